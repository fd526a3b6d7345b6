// Declarations of the standard headers, which run-time compilers lack. The `#include` lines are dropped from the source.
#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
#endif
typedef size_t uintptr_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
