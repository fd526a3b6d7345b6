// Runs PTX of a product of f16 or bf16 on random matrices, and compares it with sums of f64. For what the double of the driver cannot load:
// programs for one architecture alone. Fails with a sentence.
// usage: ptx_product FILE ENTRY M N K TRANS_A TRANS_B IS_BF16 ALPHA BETA GROUPS ITEMS SHARED
#include "ptx_run.h"
#include <math.h>

static struct { uint64_t address; size_t bytes; } memory[3];
static char said[512];
static int is_bf16;

static int is_allocated(uint64_t address, size_t bytes)
{
    for (int i = 0; i < 3; ++i)
        if (address >= memory[i].address && address + bytes <= memory[i].address + memory[i].bytes) return 1;
    return 0;
}

static float number(uint16_t bits) { return is_bf16 ? bf16_of(bits) : half_of(bits); }

static uint16_t *matrix(int i, size_t elements)
{
    memory[i].bytes = 2 * elements;
    uint16_t *m = aligned_alloc(256, (2 * elements + 255) / 256 * 256);
    memory[i].address = (uint64_t)m;
    for (size_t e = 0; e < elements; ++e) {
        const float x = (float)(rand() % 2001 - 1000) / 1000;
        m[e] = is_bf16 ? to_bf16(x) : to_half(x);
    }
    return m;
}

int main(int count, char **words)
{
    if (count != 14) return puts("13 words are wanted"), 2;
    FILE *file = fopen(words[1], "r");
    static char text[1 << 22];
    if (!file || !fread(text, 1, sizeof text - 1, file)) return puts("no program"), 2;
    int m = atoi(words[3]), n = atoi(words[4]), k = atoi(words[5]);
    const int turned_a = atoi(words[6]), turned_b = atoi(words[7]);
    is_bf16 = atoi(words[8]);
    float alpha = (float)atof(words[9]), beta = (float)atof(words[10]);
    const unsigned groups[3] = {(unsigned)atoi(words[11]), 1, 1}, items[3] = {(unsigned)atoi(words[12]), 1, 1};
    const struct program *p = ptx_read(text, said);
    if (!p || strcmp(p->entries[0].name, words[2])) return puts(p ? "another entry" : said), 1;
    uint16_t *a = matrix(0, (size_t)m * k), *b = matrix(1, (size_t)k * n), *c = matrix(2, (size_t)m * n);
    uint16_t *old = malloc(2 * (size_t)m * n);
    memcpy(old, c, 2 * (size_t)m * n);
    void *arguments[] = {&m, &n, &k, &alpha, &beta, &a, &b, &c};
    ptx_launch(p, &p->entries[0], groups, items, (size_t)atoi(words[13]), arguments, said);
    if (*said) return puts(said), 1;
    double worst = 0, largest = 0;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l)
                sum += (double)number(a[turned_a ? (size_t)l * m + i : (size_t)i * k + l]) *
                       number(b[turned_b ? (size_t)j * k + l : (size_t)l * n + j]);
            const double expected = alpha * sum + (beta != 0 ? beta * number(old[(size_t)i * n + j]) : 0);
            const double off = fabs(expected - number(c[(size_t)i * n + j]));
            if (!(off <= worst)) worst = off; // also what is no number
            largest = fmax(largest, fabs(expected));
        }
    const int is_right = worst <= (is_bf16 ? 1e-2 : 2e-3) * largest;
    if (!is_right) printf("off by %g of %g\n", worst, largest);
    return !is_right;
}
