"""The products that tests of JAX are of, beside tests/torch/specs."""
GOLDEN = ['g_mixed_modes', 'g_triple_mixed', 'g_mode_uvu_noweight', 'g_variances', 'g_nequip_lmax1_graph', 'g_diffdock_l1_graph']
OTHERS = [('modes_two', 'modes', 'kernels', '[forward, backward]'), ('modes_one', 'modes', 'kernels', '[forward]'),
          ('modes_none', 'modes', 'kernels', '[backward]'), ('single', 'edges', 'precision', 'float32'),
          ('single_any', 'edges_any', 'precision', 'float32'), ('half', 'edges', 'precision', 'bfloat16'),
          ('mixed', 'edges', 'precision', '{x: bfloat16, w: float16}')]
