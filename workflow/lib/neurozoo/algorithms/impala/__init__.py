"""IMPALA: environments act with slightly old weights, and V-trace corrects for their age."""
