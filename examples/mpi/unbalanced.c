/* SPDX-License-Identifier: MIT */
/* unbalanced.c - a solver whose work grows with the rank, so that all wait for the last one;
 * its scopes are Tallytree's, and its threads are OpenMP's where there is OpenMP:
 *
 *      mpicc -O2 -fopenmp unbalanced.c -o unbalanced -ltallytree -lm
 *      mpirun -n 4 -x LD_PRELOAD=libtallytree-mpi.so ./unbalanced [ROUNDS]
 *      tallytree report strands tallytree.unbalanced.mpi */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <tallytree.h>

static double solve(int work)
{
    double x = 1;

    TT_FUNCTION();
    for (int i = 0; i < work; i++)
        x = x - (x * x - 2) / (2 * x) * 0.001;
    return x;
}

static double step(int work)
{
    double sum = 0;

    TT_FUNCTION();
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : sum)
#endif
    for (int part = 0; part < 4; part++)
        sum += solve(work);
    return sum;
}

int main(int argc, char **argv)
{
    int rank, ranks, rounds;
    double here, all = 0;

    MPI_Init(&argc, &argv);
    rounds = argc > 1 ? atoi(argv[1]) : 50;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < rounds; i++) {
        here = step(10000 * (rank + 1));
        MPI_Allreduce(&here, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.6f\n", all / ranks);
    MPI_Finalize();
    return 0;
}
