// Stands where hip-sys looks for HIP on machines without ROCm; its bindings are ready-made, and nothing of this is read.
