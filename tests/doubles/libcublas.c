// A double of NVIDIA's library of matrix products for tests: column-major, f32, over host memory.
#include <stddef.h>

enum { OK = 0, INVALID = 7 };

static int library;

const char *cublasGetStatusString(int status) { return status ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_SUCCESS"; }
int cublasCreate_v2(void **handle) { *handle = &library; return OK; }
int cublasGetVersion_v2(void *handle, int *version) { *version = 130002; return handle == &library ? OK : INVALID; }
int cublasGemmEx(void *handle, int trans_a, int trans_b, int m, int n, int k, const float *alpha, const float *a, int a_type, int lda,
                 const float *b, int b_type, int ldb, const float *beta, float *c, int c_type, int ldc, int compute, int algorithm)
{
    if (handle != &library || a_type || b_type || c_type || compute != 68 || algorithm != -1) return INVALID;
    if (lda < (trans_a ? k : m) || ldb < (trans_b ? n : k) || ldc < m) return INVALID;
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
            float sum = 0;
            for (int l = 0; l < k; ++l)
                sum += (trans_a ? a[(size_t)i * lda + l] : a[(size_t)l * lda + i]) * (trans_b ? b[(size_t)l * ldb + j] : b[(size_t)j * ldb + l]);
            c[(size_t)j * ldc + i] = *alpha * sum + (*beta != 0 ? *beta * c[(size_t)j * ldc + i] : 0);
        }
    return OK;
}
