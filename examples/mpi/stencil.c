/* SPDX-License-Identifier: MIT */
/* stencil.c - heat in a plate: rows are divided among the ranks, which exchange their edges
 * and now and then agree on how much has changed.  It knows nothing of Tallytree:
 *
 *      mpicc -O2 stencil.c -o stencil -lm
 *      mpirun -n 4 -x LD_PRELOAD=libtallytree-mpi.so ./stencil [SIZE [ROUNDS]]
 *      tallytree report tree tallytree.stencil.mpi */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int size, rows, rank, ranks;

static void exchange(double *plate, MPI_Comm line)
{
    int above, below;

    MPI_Cart_shift(line, 0, 1, &above, &below);
    MPI_Sendrecv(plate + size, size, MPI_DOUBLE, above, 1, plate + (rows + 1) * size,
                 size, MPI_DOUBLE, below, 1, line, MPI_STATUS_IGNORE);
    MPI_Sendrecv(plate + rows * size, size, MPI_DOUBLE, below, 2, plate, size, MPI_DOUBLE,
                 above, 2, line, MPI_STATUS_IGNORE);
}

static double spread_heat(const double *from, double *to)
{
    double change = 0;

    for (int y = 1; y <= rows; y++)
        for (int x = 1; x < size - 1; x++) {
            const double *at = from + y * size + x;
            double now = (at[-1] + at[1] + at[-size] + at[size]) / 4;
            change += fabs(now - at[0]);
            to[y * size + x] = now;
        }
    return change;
}

int main(int argc, char **argv)
{
    int rounds, period = 0;
    double *plate, *next, change = 0, begin;
    MPI_Comm line;

    MPI_Init(&argc, &argv);
    size = argc > 1 ? atoi(argv[1]) : 256;
    rounds = argc > 2 ? atoi(argv[2]) : 200;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &period, 0, &line);
    MPI_Comm_rank(line, &rank);
    rows = size / ranks + (rank < size % ranks);
    plate = calloc((size_t)(rows + 2) * size, sizeof *plate);
    next = calloc((size_t)(rows + 2) * size, sizeof *next);
    for (int y = 0; y < rows + 2; y++)
        plate[y * size] = next[y * size] = 100;
    begin = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
        double *old = plate, here;
        exchange(plate, line);
        here = spread_heat(plate, next);
        plate = next;
        next = old;
        if (i % 10 == 9)
            MPI_Allreduce(&here, &change, 1, MPI_DOUBLE, MPI_SUM, line);
    }
    if (rank == 0)
        printf("%d ranks: %.3f, in %.4f s\n", ranks, change, MPI_Wtime() - begin);
    free(plate);
    free(next);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return 0;
}
