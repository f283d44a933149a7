# The headers that are installed. Everything else is private to libdopt.

# What plugins may use: installed as include/dopt/NAME, wherever the file is in the tree. dopt/dopt.h includes them all.
# A public header brackets its declarations with DOPT_API_BEGIN and DOPT_API_END (ir/base/api.h) and includes only
# headers of this list. Their digest is the version of the interface: passes/api/public.cmake.
#	file                                      NAME
set(DOPT_PUBLIC_HEADERS
	ir/base/api.h                             api.h
	ir/base/arena.h                           arena.h
	ir/base/diag.h                            diag.h
	runtime/kernel/dtype.def                  dtype.def
	ir/type.h                                 type.h
	ir/ops/ops.def                            ops.def
	ir/ir.h                                   ir.h
	ir/ops/scalar.def                         scalar.def
	ir/ops/form.h                             form.h
	ir/interp/interp.h                        interp.h
	ir/cluster/device.def                     device.def
	ir/cluster/reach.def                      reach.def
	ir/cluster/reach.h                        reach.h
	ir/cluster/device.h                       device.h
	ir/cluster/cluster.h                      cluster.h
	passes/passes.def                         passes.def
	passes/pass.h                             pass.h
	runtime/comm/collective.def               collective.def
	runtime/comm/collective.h                 collective_kind.h
	passes/analysis/collective/algorithm.def  collective_algorithm.def
	passes/analysis/collective/collective.h   collective.h
	passes/analysis/replay/kind.h             op_kind.h
	passes/analysis/profile/key.h             op_key.h
	passes/analysis/cost/cost.h               cost.h
	passes/analysis/replay/replay.h           replay.h
	passes/analysis/replay/events.h           events.h
	passes/parallel/reshard.h                 reshard.h)

# What the programs that dopt writes include: installed as include/dopt/FILE, where lower/build.c looks for them.
set(DOPT_PROGRAM_HEADERS
	runtime/comm/collective.def
	runtime/comm/collective.h
	runtime/cuda/args.h
	runtime/cuda/device.h
	runtime/cuda/measure.h
	runtime/cuda/order.h
	runtime/cuda/tile.h
	runtime/cuda/rt_cuda.h
	runtime/cuda/scatter.h
	runtime/cuda/support.h
	runtime/kernel/bits.h
	runtime/kernel/conv.h
	runtime/kernel/dtype.def
	runtime/kernel/dtype.h
	runtime/kernel/gemm.h
	runtime/kernel/half.h
	runtime/kernel/init.def
	runtime/kernel/init_kind.h
	runtime/kernel/kernel.h
	runtime/kernel/order.h
	runtime/kernel/rng.h
	runtime/kernel/scalar_math.h
	runtime/kernel/scalar_wide.h
	runtime/machine.h
	runtime/measure/measure.h
	runtime/rt_program.h
	runtime/status.h)
