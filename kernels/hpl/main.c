/* The program of HPL as it stands inside HPCC, without the other benchmarks: reads hpccinf.txt, writes hpccoutf.txt. */
#include <hpl.h>

int HPL_main(int, char **, HPL_RuntimeData *, int *);

/* HPCC goes on with other values where the input cannot be used: here that is an error */
int HPCC_Defaults(void) {
    fprintf(stderr, "HPL cannot use its input\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}

int main(int count, char **words) {
    HPL_RuntimeData data;
    int failure = 0;
    MPI_Init(&count, &words);
    HPL_main(count, words, &data, &failure);
    MPI_Finalize();
    return failure;
}
