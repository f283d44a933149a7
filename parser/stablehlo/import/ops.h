/* The functions that import.def names: each imports one op (import_function of import.h). */
#ifndef PARSER_STABLEHLO_IMPORT_OPS_H
#define PARSER_STABLEHLO_IMPORT_OPS_H

#include "parser/stablehlo/import/import.h"

/* ops/: elements */
import_function import_compare;
import_function import_select;
import_function import_clamp;
import_function import_convert;
import_function import_bitcast;
import_function import_popcnt;
import_function import_clz;
import_function import_round_away;
import_function import_reduce_precision;
import_function import_map;
import_function import_mulhi;
import_function import_erf_inv;
import_function import_next_after;
import_function import_is_pos_inf;
import_function import_is_neg_inf;
import_function import_broadcasting;
import_function import_constant_like;
import_function import_identity;
import_function import_imag;
import_function import_barrier;

/* ops/: shapes */
import_function import_constant;
import_function import_iota;
import_function import_broadcast;
import_function import_reshape;
import_function import_transpose;
import_function import_reverse;
import_function import_slice;
import_function import_pad;
import_function import_dynamic_pad;
import_function import_concat;
import_function import_size;
import_function import_dynamic_slice;
import_function import_dynamic_update;

/* sum/: products */
import_function import_dot;
import_function import_dot_general;
import_function import_convolution;
import_function import_triangular_solve;
import_function import_cholesky;
import_function import_ragged_dot;
import_function import_fft;

/* ops/: batch norm */
import_function import_batch_norm_training;
import_function import_batch_norm_inference;
import_function import_batch_norm_grad;

/* sum/: reductions and windows; ops/: orders */
import_function import_reduce;
import_function import_reduce_window;
import_function import_select_and_scatter;
import_function import_scan;
import_function import_top_k;
import_function import_approx_top_k;
import_function import_sort;

/* ops/: indices, random numbers */
import_function import_gather;
import_function import_scatter;
import_function import_index_select;
import_function import_rng;
import_function import_rng_bits;

/* control.c */
import_function import_call;
import_function import_composite;
import_function import_while;
import_function import_if;
import_function import_case;
import_function import_tuple;
import_function import_tuple_element;
import_function import_token;

/* ops/custom.c */
import_function import_custom_call;

/* ops/check.c */
import_function import_expect_eq;
import_function import_expect_almost;
import_function import_expect_close;
import_function import_probe;
import_function import_expect_probed;
import_function import_nothing;

/* collective/ */
import_function import_all_reduce;
import_function import_all_gather;
import_function import_reduce_scatter;
import_function import_all_to_all;
import_function import_collective_permute;
import_function import_collective_broadcast;
import_function import_collective_reduce;
import_function import_replica_id;
import_function import_partition_id;
import_function import_run_parallel;
import_function import_send;
import_function import_recv;
import_function import_infeed;
import_function import_outfeed;
import_function import_manual;
import_function import_sharding;

#endif
