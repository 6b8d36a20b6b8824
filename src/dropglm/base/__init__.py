"""What every room stands on: errors and checks, blocks of features, files, threads and progress."""
