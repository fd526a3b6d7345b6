// Numbers that OpenCL C names, and CUDA C++ where a whole compiler puts its headers before a source.
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#ifndef M_PI_F
#define M_PI_F 3.14159274f
#define M_E_F 2.71828183f
#define M_LOG2E_F 1.44269502f
#define M_LN2_F 0.693147182f
#define M_SQRT2_F 1.41421354f
#define MAXFLOAT FLT_MAX
#define HUGE_VALF INFINITY
#endif
