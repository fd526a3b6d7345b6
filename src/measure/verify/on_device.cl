// Puts an output back to what it was before a launch, and compares it with what it should be, on the device.

#ifdef FORMAT_F32
typedef uint word;
#define VALUE(bits) as_float(bits)
#define EXPONENT 0x7f800000u
#else
typedef ushort word;
#ifdef FORMAT_BF16
#define VALUE(bits) as_float((uint)(bits) << 16)
#define EXPONENT 0x7f80u
#else
#define EXPONENT 0x7c00u
#endif
#endif

// `flag` becomes 0.
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void seqtune_restore(const int words, __global const word *restrict from, __global word *restrict to, __global int *restrict flag)
{
    const int i = (int)get_global_id(0);
    if (i == 0) flag[0] = 0;
    if (i < words) to[i] = from[i];
}

// `flag` becomes 1 where one of `count` values is off by more than `most`, or one of the other words differs at all. Values that are no
// numbers agree with nothing, which is told by their bits: compilers are allowed to believe that there are none.
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void seqtune_compare(const int count, const int words, const float most, __global const word *restrict found,
                     __global const word *restrict expected, __global int *restrict flag)
{
    const int i = (int)get_global_id(0);
    if (i >= words) return;
    const word f = found[i], e = expected[i];
    if (f == e) return;
    int agrees = 0;
    if (i < count && (f & EXPONENT) != EXPONENT && (e & EXPONENT) != EXPONENT) {
#ifdef VALUE
        const float off = VALUE(f) - VALUE(e);
#else
        const float off = vload_half(i, (__global const half *)found) - vload_half(i, (__global const half *)expected);
#endif
        agrees = off <= most && -off <= most;
    }
    if (!agrees) flag[0] = 1;
}
