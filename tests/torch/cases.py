"""The products that tests of PyTorch are of, beside tests/torch/specs."""
GOLDEN = ['g_mixed_modes', 'g_triple_mixed', 'g_mode_ultvw_1', 'g_mode_uuw_1', 'g_mode_uvv_1', 'g_mode_uvultv_1',
          'g_mode_uvu_noweight', 'g_variances', 'g_nequip_lmax1_graph', 'g_diffdock_l1_graph']
OTHERS = [('modes_two', 'modes', 'kernels', '[forward, backward]'), ('modes_one', 'modes', 'kernels', '[forward]'),
          ('modes_none', 'modes', 'kernels', '[backward]'),
          ('modes_single', 'modes', 'precision', 'float32'), ('edges_single', 'edges', 'precision', 'float32')]
