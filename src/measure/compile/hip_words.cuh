// The words of HIP C++ for clang alone, which knows the language and none of them: no header of ROCm and no library is needed. hipRTC has
// them built in. What is missing here (sinf, powf, cooperative groups) is in ROCm's libraries.
#if defined(__HIP__) && !defined(__HIPCC_RTC__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// as in ROCm's headers, the second number in wavefronts of a SIMD unit: clang takes its own launch_bounds for AMD and does nothing with it. More
// wavefronts than a unit has would lift the limit instead
#define SEQTUNE_ITEMS(items) __attribute__((amdgpu_flat_work_group_size(1, items)))
#define SEQTUNE_ITEMS_AND_WAVES(items, waves) SEQTUNE_ITEMS(items) __attribute__((amdgpu_waves_per_eu((waves) < 8 ? (waves) : 8)))
#define SEQTUNE_THIRD(a, b, c, ...) c
#define __launch_bounds__(...) SEQTUNE_THIRD(__VA_ARGS__, SEQTUNE_ITEMS_AND_WAVES, SEQTUNE_ITEMS)(__VA_ARGS__)
typedef __SIZE_TYPE__ size_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
#define SEQTUNE_VECTORS(T, of)                                                                     \
    struct T##2 {                                                                                  \
        of x, y;                                                                                   \
    } __attribute__((aligned(2 * sizeof(of))));                                                    \
    struct T##3 {                                                                                  \
        of x, y, z;                                                                                \
    };                                                                                             \
    struct T##4 {                                                                                  \
        of x, y, z, w;                                                                             \
    } __attribute__((aligned(4 * sizeof(of))));                                                    \
    __device__ __forceinline__ T##2 make_##T##2(of x, of y) { return {x, y}; }                     \
    __device__ __forceinline__ T##3 make_##T##3(of x, of y, of z) { return {x, y, z}; }            \
    __device__ __forceinline__ T##4 make_##T##4(of x, of y, of z, of w) { return {x, y, z, w}; }
SEQTUNE_VECTORS(float, float)
SEQTUNE_VECTORS(int, int)
SEQTUNE_VECTORS(uint, unsigned)
SEQTUNE_VECTORS(double, double)
struct seqtune_triple {
    unsigned x, y, z;
};
#define SEQTUNE_TRIPLE(of) seqtune_triple{__builtin_amdgcn_##of##_x(), __builtin_amdgcn_##of##_y(), __builtin_amdgcn_##of##_z()}
#define threadIdx SEQTUNE_TRIPLE(workitem_id)
#define blockIdx SEQTUNE_TRIPLE(workgroup_id)
#define blockDim SEQTUNE_TRIPLE(workgroup_size)
#define SEQTUNE_GROUPS(d) (__builtin_amdgcn_grid_size_##d() / __builtin_amdgcn_workgroup_size_##d())
#define gridDim seqtune_triple{SEQTUNE_GROUPS(x), SEQTUNE_GROUPS(y), SEQTUNE_GROUPS(z)}
#define warpSize __builtin_amdgcn_wavefrontsize()
__device__ __forceinline__ void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ __forceinline__ void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__device__ __forceinline__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
#define __uint_as_float(x) __builtin_bit_cast(float, (unsigned)(x))
#define __int_as_float(x) __builtin_bit_cast(float, (int)(x))
#define __float_as_uint(x) __builtin_bit_cast(unsigned, (float)(x))
#define __float_as_int(x) __builtin_bit_cast(int, (float)(x))
template <class T> __device__ __forceinline__ T min(T a, T b) { return b < a ? b : a; }
template <class T> __device__ __forceinline__ T max(T a, T b) { return a < b ? b : a; }
template <class T> __device__ __forceinline__ T __ldg(const T *p) { return *p; }
#define SEQTUNE_MATH(name, of) __device__ __forceinline__ float name(float x) { return of(x); }
SEQTUNE_MATH(sqrtf, __builtin_sqrtf)
SEQTUNE_MATH(rsqrtf, 1.0f / __builtin_sqrtf)
SEQTUNE_MATH(fabsf, __builtin_fabsf)
SEQTUNE_MATH(floorf, __builtin_floorf)
SEQTUNE_MATH(ceilf, __builtin_ceilf)
SEQTUNE_MATH(truncf, __builtin_truncf)
SEQTUNE_MATH(rintf, __builtin_rintf)
SEQTUNE_MATH(expf, __builtin_expf)
SEQTUNE_MATH(exp2f, __builtin_exp2f)
SEQTUNE_MATH(logf, __builtin_logf)
SEQTUNE_MATH(log2f, __builtin_log2f)
SEQTUNE_MATH(__expf, __builtin_expf)
SEQTUNE_MATH(__logf, __builtin_logf)
__device__ __forceinline__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ __forceinline__ float fminf(float a, float b) { return __builtin_fminf(a, b); }
__device__ __forceinline__ float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
#define SEQTUNE_ATOMIC(name, of)                                                                   \
    template <class T> __device__ __forceinline__ T name(T *p, T value)                            \
    {                                                                                              \
        return of(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                           \
    }
SEQTUNE_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
SEQTUNE_ATOMIC(atomicMin, __hip_atomic_fetch_min)
SEQTUNE_ATOMIC(atomicMax, __hip_atomic_fetch_max)
SEQTUNE_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
SEQTUNE_ATOMIC(atomicOr, __hip_atomic_fetch_or)
SEQTUNE_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
SEQTUNE_ATOMIC(atomicExch, __hip_atomic_exchange)
__device__ __forceinline__ int seqtune_lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
// of 32 bits, as HIP's own; a lane from another part of `width` gives the value of one's own
template <class T> __device__ __forceinline__ T seqtune_from(T value, int lane, bool is_there)
{
    const int from = __builtin_amdgcn_ds_bpermute((is_there ? lane : seqtune_lane()) << 2, __builtin_bit_cast(int, value));
    return __builtin_bit_cast(T, from);
}
template <class T> __device__ __forceinline__ T __shfl(T value, int lane, int width = warpSize)
{
    return seqtune_from(value, (lane & (width - 1)) + (seqtune_lane() & ~(width - 1)), true);
}
template <class T> __device__ __forceinline__ T __shfl_xor(T value, int mask, int width = warpSize)
{
    const int own = seqtune_lane(), lane = own ^ mask;
    return seqtune_from(value, lane, lane < ((own + width) & ~(width - 1)));
}
template <class T> __device__ __forceinline__ T __shfl_down(T value, unsigned by, int width = warpSize)
{
    const int own = seqtune_lane();
    return seqtune_from(value, own + (int)by, (own & (width - 1)) + (int)by < width);
}
template <class T> __device__ __forceinline__ T __shfl_up(T value, unsigned by, int width = warpSize)
{
    const int own = seqtune_lane();
    return seqtune_from(value, own - (int)by, (own & (width - 1)) >= (int)by);
}
#endif
