! SPDX-License-Identifier: MIT
! mpi-program.f90 - the ring of mpi-program.c in Fortran, by the binding that is asked for.
program ring
#ifdef F08
    use mpi_f08
    implicit none
    type(MPI_Request) :: request
    type(MPI_Status) :: state
#else
    use mpi
    implicit none
    integer :: request, state(MPI_STATUS_SIZE)
#endif
    integer :: rank, ranks, i, token, error

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    do i = 1, 10
        call MPI_Irecv(token, 1, MPI_INTEGER, modulo(rank - 1, ranks), 7, MPI_COMM_WORLD, request, error)
        call MPI_Send(rank, 1, MPI_INTEGER, modulo(rank + 1, ranks), 7, MPI_COMM_WORLD, error)
        call MPI_Wait(request, state, error)
        if (token /= modulo(rank - 1, ranks)) stop 1
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 0) print '(a)', 'done'
    call MPI_Finalize(error)
end program
