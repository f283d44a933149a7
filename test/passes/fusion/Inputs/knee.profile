dopt-profile 2

device "cpu" backend "bench 1"
collective transport=mpi kind=allreduce places=2 nodes=2 bytes=1000 median=0.0001 spread=0 runs=9 time=2026-11-20T23:55:01Z
collective transport=mpi kind=allreduce places=2 nodes=2 bytes=4000000 median=0.032 spread=0 runs=9 time=2026-11-20T23:55:01Z
collective transport=mpi kind=allreduce places=2 nodes=2 bytes=5000000 median=0.09 spread=0 runs=9 time=2026-11-20T23:55:01Z
collective transport=mpi kind=allreduce places=2 nodes=2 bytes=40000000 median=0.72 spread=0 runs=9 time=2026-11-20T23:55:01Z
