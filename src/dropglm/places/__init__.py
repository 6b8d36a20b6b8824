"""Where the rows of a fit are: in memory, on a GPU or in partitions, behind the same few verbs."""
