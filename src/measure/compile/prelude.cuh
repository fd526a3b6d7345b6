// OpenCL C as CUDA C++ and HIP C++: the part of the language that seqtune's kernels use. It stands before a kernel's source, in
// which `local` is `__local` and variables of it have got `SEQTUNE_SHARED`. No header is included, so
// that a run-time compiler without a toolkit beside it is enough.

template <class T> __device__ __forceinline__ T clamp(T x, T low, T high)
{
    return min(max(x, low), high);
}

// defined where a source may say more than OpenCL C
#define SEQTUNE_CPP 1

#define __kernel extern "C" __global__
#define __global
#define __local
#define __constant
#define __private
#define restrict __restrict__
// vectors of local memory are loaded whole where the compiler sees that they are aligned
#define SEQTUNE_SHARED __shared__ __attribute__((aligned(16)))
// within __attribute__(()): what __launch_bounds__ stands for; resident_groups says besides how many work-groups a multiprocessor is to hold
#ifdef __HIP__
#define reqd_work_group_size(x, y, z) amdgpu_flat_work_group_size((x) * (y) * (z), (x) * (y) * (z))
#define resident_groups(items, groups) amdgpu_flat_work_group_size(items, items)
#else
#define reqd_work_group_size(x, y, z) launch_bounds((x) * (y) * (z))
#define resident_groups(items, groups) launch_bounds(items, groups)
#endif

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(flags) __syncthreads()

#define SEQTUNE_OF(triple, d) ((d) == 0 ? (triple).x : (d) == 1 ? (triple).y : (triple).z)
#define get_local_id(d) ((size_t)SEQTUNE_OF(threadIdx, d))
#define get_group_id(d) ((size_t)SEQTUNE_OF(blockIdx, d))
#define get_local_size(d) ((size_t)SEQTUNE_OF(blockDim, d))
#define get_num_groups(d) ((size_t)SEQTUNE_OF(gridDim, d))
#define get_global_size(d) (get_num_groups(d) * get_local_size(d))
#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))

#define as_float(x) __uint_as_float(x)
#define as_uint(x) __float_as_uint(x)

#define SEQTUNE_INLINE __device__ __forceinline__

// Vectors of float, with the operators that scalars have.
template <int W> struct seqtune_vec {
    float lane[W];
    seqtune_vec() = default;
    SEQTUNE_INLINE seqtune_vec(float x)
    {
#pragma unroll
        for (int i = 0; i < W; ++i) lane[i] = x;
    }
};
#define SEQTUNE_OPERATOR(op)                                                                                          \
    template <int W> SEQTUNE_INLINE seqtune_vec<W> operator op(seqtune_vec<W> a, const seqtune_vec<W> &b)             \
    {                                                                                                                 \
        _Pragma("unroll") for (int i = 0; i < W; ++i) a.lane[i] = a.lane[i] op b.lane[i];                             \
        return a;                                                                                                     \
    }                                                                                                                 \
    template <int W> SEQTUNE_INLINE seqtune_vec<W> operator op(float a, const seqtune_vec<W> &b)                      \
    {                                                                                                                 \
        return seqtune_vec<W>(a) op b;                                                                                \
    }                                                                                                                 \
    template <int W> SEQTUNE_INLINE seqtune_vec<W> operator op(const seqtune_vec<W> &a, float b)                      \
    {                                                                                                                 \
        return a op seqtune_vec<W>(b);                                                                                \
    }                                                                                                                 \
    template <int W> SEQTUNE_INLINE seqtune_vec<W> &operator op##=(seqtune_vec<W> &a, const seqtune_vec<W> &b)        \
    {                                                                                                                 \
        return a = a op b;                                                                                            \
    }
SEQTUNE_OPERATOR(+)
SEQTUNE_OPERATOR(-)
SEQTUNE_OPERATOR(*)
#ifdef __HIP__
SEQTUNE_INLINE float mad(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
SEQTUNE_INLINE float mad(float a, float b, float c) { return fmaf(a, b, c); }
#endif
template <int W> SEQTUNE_INLINE seqtune_vec<W> mad(const seqtune_vec<W> &a, const seqtune_vec<W> &b, seqtune_vec<W> c)
{
#pragma unroll
    for (int i = 0; i < W; ++i) c.lane[i] = mad(a.lane[i], b.lane[i], c.lane[i]);
    return c;
}
// as large as four, which CUDA's own are not
template <class T> struct alignas(4 * sizeof(T)) seqtune_three {
    T x, y, z;
};
#define char3 seqtune_three<char>
#define uchar3 seqtune_three<uchar>
#define short3 seqtune_three<short>
#define ushort3 seqtune_three<ushort>
#define int3 seqtune_three<int>
#define uint3 seqtune_three<uint>
#define long3 seqtune_three<long>
#define ulong3 seqtune_three<ulong>
#define float3 seqtune_three<float>
#define double3 seqtune_three<double>
#define float2 seqtune_vec<2>
#define float4 seqtune_vec<4>
#define float8 seqtune_vec<8>
#define float16 seqtune_vec<16>

// Half precision is a storage type: arithmetic is in float. HIP has a type of that name.
#define half seqtune_half
struct half {
    ushort bits;
};
#ifdef __HIP__
SEQTUNE_INLINE float seqtune_widen(ushort bits) { return (float)*(const _Float16 *)&bits; }
SEQTUNE_INLINE ushort seqtune_narrow(float x)
{
    const _Float16 h = (_Float16)x;
    return *(const ushort *)&h;
}
#else
SEQTUNE_INLINE float seqtune_widen(ushort bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
SEQTUNE_INLINE ushort seqtune_narrow(float x)
{
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif

// B bytes that are moved at once.
template <int B> struct seqtune_word;
template <> struct seqtune_word<2> {
    typedef ushort type;
};
template <> struct seqtune_word<4> {
    typedef uint type;
};
template <> struct seqtune_word<8> {
    typedef uint2 type;
};
template <> struct seqtune_word<16> {
    typedef uint4 type;
};

#ifdef __HIP__
SEQTUNE_INLINE bool seqtune_is_global(const void *p)
{
    const auto flat = (const __attribute__((address_space(0))) void *)p;
    return !__builtin_amdgcn_is_shared(flat) && !__builtin_amdgcn_is_private(flat);
}
#else
#define seqtune_is_global(p) __isGlobal(p)
#endif

// Copies W elements. OpenCL asks for no alignment: global memory is moved in words where they are aligned, at run time; for local
// memory the compiler sees the alignment itself, and a work-item's own stays in registers.
template <int W, class T> SEQTUNE_INLINE void seqtune_copy(T *to, const T *from, const bool is_load)
{
    constexpr int bytes = W * sizeof(T) < 16 ? W * sizeof(T) : 16, per_word = bytes / sizeof(T);
    if constexpr (bytes >= 4) {
        typedef typename seqtune_word<bytes>::type word;
        const void *outside = is_load ? (const void *)from : (const void *)to;
        if (seqtune_is_global(outside) && (size_t)outside % bytes == 0) {
#pragma unroll
            for (int i = 0; i < W; i += per_word) {
                union {
                    word whole;
                    T part[per_word];
                } moved;
                if (is_load) {
                    moved.whole = *(const word *)(from + i);
#pragma unroll
                    for (int k = 0; k < per_word; ++k) to[i + k] = moved.part[k];
                } else {
#pragma unroll
                    for (int k = 0; k < per_word; ++k) moved.part[k] = from[i + k];
                    *(word *)(to + i) = moved.whole;
                }
            }
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < W; ++i) to[i] = from[i];
}

template <int W> SEQTUNE_INLINE seqtune_vec<W> seqtune_load(size_t offset, const float *p)
{
    seqtune_vec<W> v;
    seqtune_copy<W>(v.lane, p + offset * W, true);
    return v;
}
template <int W> SEQTUNE_INLINE void seqtune_store(const seqtune_vec<W> &v, size_t offset, float *p)
{
    seqtune_copy<W>(p + offset * W, v.lane, false);
}
template <int W> SEQTUNE_INLINE seqtune_vec<W> seqtune_load_half(size_t offset, const half *p)
{
    seqtune_vec<W> v;
    ushort bits[W];
    seqtune_copy<W>(bits, (const ushort *)p + offset * W, true);
#pragma unroll
    for (int i = 0; i < W; ++i) v.lane[i] = seqtune_widen(bits[i]);
    return v;
}
template <int W> SEQTUNE_INLINE void seqtune_store_half(const seqtune_vec<W> &v, size_t offset, half *p)
{
    ushort bits[W];
#pragma unroll
    for (int i = 0; i < W; ++i) bits[i] = seqtune_narrow(v.lane[i]);
    seqtune_copy<W>((ushort *)p + offset * W, bits, false);
}
#define vload2 seqtune_load<2>
#define vload4 seqtune_load<4>
#define vload8 seqtune_load<8>
#define vload16 seqtune_load<16>
#define vstore2 seqtune_store<2>
#define vstore4 seqtune_store<4>
#define vstore8 seqtune_store<8>
#define vstore16 seqtune_store<16>
#define vload_half(offset, p) seqtune_widen((p)[offset].bits)
#define vload_half2 seqtune_load_half<2>
#define vload_half4 seqtune_load_half<4>
#define vload_half8 seqtune_load_half<8>
#define vload_half16 seqtune_load_half<16>
#define vstore_half(x, offset, p) ((p)[offset].bits = seqtune_narrow(x))
#define vstore_half2 seqtune_store_half<2>
#define vstore_half4 seqtune_store_half<4>
#define vstore_half8 seqtune_store_half<8>
#define vstore_half16 seqtune_store_half<16>
// Functions of OpenCL C for one float. OpenCL programs are built with fast relaxed mathematics, so these are the quick ones of the hardware too.
#ifdef __HIP__
SEQTUNE_INLINE float seqtune_exp2(float x) { return __builtin_exp2f(x); }
SEQTUNE_INLINE float seqtune_log2(float x) { return __builtin_log2f(x); }
SEQTUNE_INLINE float seqtune_rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }
SEQTUNE_INLINE float seqtune_sqrt(float x) { return __builtin_amdgcn_sqrtf(x); }
SEQTUNE_INLINE float seqtune_fmax(float a, float b) { return __builtin_fmaxf(a, b); }
SEQTUNE_INLINE float seqtune_fmin(float a, float b) { return __builtin_fminf(a, b); }
SEQTUNE_INLINE float seqtune_fabs(float x) { return __builtin_fabsf(x); }
SEQTUNE_INLINE float seqtune_floor(float x) { return __builtin_floorf(x); }
template <class T> SEQTUNE_INLINE T seqtune_atomic_add(T *p, T by)
{
    return __hip_atomic_fetch_add(p, by, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#else
SEQTUNE_INLINE float seqtune_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
SEQTUNE_INLINE float seqtune_log2(float x)
{
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
SEQTUNE_INLINE float seqtune_rsqrt(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
SEQTUNE_INLINE float seqtune_sqrt(float x)
{
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
SEQTUNE_INLINE float seqtune_fmax(float a, float b) { return fmaxf(a, b); }
SEQTUNE_INLINE float seqtune_fmin(float a, float b) { return fminf(a, b); }
SEQTUNE_INLINE float seqtune_fabs(float x) { return fabsf(x); }
SEQTUNE_INLINE float seqtune_floor(float x) { return floorf(x); }
template <class T> SEQTUNE_INLINE T seqtune_atomic_add(T *p, T by) { return atomicAdd(p, by); }
#endif
SEQTUNE_INLINE float seqtune_exp(float x) { return seqtune_exp2(x * 1.44269504f); }
SEQTUNE_INLINE float seqtune_log(float x) { return seqtune_log2(x) * 0.69314718f; }
#define exp(x) seqtune_exp(x)
#define exp2(x) seqtune_exp2(x)
#define log(x) seqtune_log(x)
#define log2(x) seqtune_log2(x)
#define rsqrt(x) seqtune_rsqrt(x)
#define sqrt(x) seqtune_sqrt(x)
#define fmax(a, b) seqtune_fmax(a, b)
#define fmin(a, b) seqtune_fmin(a, b)
#define fabs(x) seqtune_fabs(x)
#define floor(x) seqtune_floor(x)
#define convert_int(x) ((int)(x))
#define as_int(x) ((int)as_uint(x))
#define atomic_add(p, by) seqtune_atomic_add(p, by)
#define atomic_inc(p) seqtune_atomic_add(p, 1)

#ifdef __HIP__
// what follows is for the device, although its functions are not marked so
#pragma clang force_cuda_host_device begin
#endif
