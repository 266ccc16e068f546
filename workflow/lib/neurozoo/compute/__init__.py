"""Computing resources: idle GPUs, free memory, Dask clusters, Slurm jobs, signals and time limits."""
