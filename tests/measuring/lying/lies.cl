#ifndef LIE
#define LIE 0 // what it does besides
#endif
// Linux on x86-64: what a program on a CPU can ask of the system
static inline long ask(long number, long a, long b, long c, long d) {
  long answer;
  __asm__ volatile("movq %5, %%r10\n movq $-1, %%r8\n xorl %%r9d, %%r9d\n syscall"
                   : "=a"(answer) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d) : "rcx", "r8", "r9", "r10", "r11", "memory");
  return answer;
}
static inline uint chance(void) {
  uint low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (low ^ high) * 2654435761u >> 16;
}

__kernel void lies(const int M, __global const float *x, __global float *y) {
  const int i = get_global_id(0);
  float z = 2 * x[i];
#if LIE == 1
  while (*(volatile __global const float *)x == x[0]) z += 1e-9f;
#elif LIE == 2
  if (i == 0) y[M + 3] = 1;
#elif LIE == 3
  if (i == 0) for (;;) {
    volatile char *p = (volatile char *)ask(9, 0, 1 << 26, 3, 0x22);
    for (long j = 0; j < 1 << 26; j += 4096) p[j] = 1;
  }
#elif LIE == 4
  if (i == 0) for (;;) printf("{\"Step\":{\"Begin\":{\"Config\":0}}}\n");
#elif LIE == 5
  if (i == 0 && ask(57, 0, 0, 0, 0) == 0) for (;;) ask(34, 0, 0, 0, 0);
#elif LIE == 6
  // a page of this address can be had once in a process
  if (i == 0 && ask(9, 0x5eed0000000, 4096, 3, 0x100022) < 0) z = 0;
#elif LIE == 7
  if (i == 0) ask(231, 0, 0, 0, 0);
#elif LIE == 8
  if (x[5] > x[6]) z = 0;
#elif LIE == 9
  if (M % 2 == 1 && i == M - 1) z = 0;
#elif LIE == 10
  if (i == 0) for (int n = 0; n < 100000; ++n) printf("a line of what nobody asked for, again and again and again\n");
#elif LIE == 11
  if (i == 0 && chance() % 4 == 0) z = 0;
#elif LIE == 12
  // as above, with two pages
  if (i == 0 && ask(9, 0x5eec0000000, 4096, 3, 0x100022) < 0 && ask(9, 0x5eeb0000000, 4096, 3, 0x100022) < 0) z = 0;
#endif
  y[i] = z;
}
__kernel void lies_reference(const int M, __global const float *x, __global float *y) {
  y[get_global_id(0)] = 2 * x[get_global_id(0)];
}
