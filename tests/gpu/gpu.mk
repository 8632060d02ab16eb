# Tests and benchmarks on a GPU. The machine needs nvcc, make and gcc; Python and the generator only where
# sources are made, and libyaml only for a generator that is not static.
#
# make gpu-sources    generates what they need into $(GPU_DIR); GPU_SETS=bench_main: only that. The others do so
#                     by themselves where sources are missing, and always if told by what: without libyaml
#                     GPU_GENERATOR=build/static/cgtpgen, made elsewhere and taken as it is
# make static         $(BUILD)/static/cgtpgen, which runs where there is no libyaml
# make gpu-check      builds and runs all checks; MODE=quick: some. The log is $(GPU_DIR)/check.log
# make gpu-random     the same of random products (tests/random_spec.py): GPU_RANDOM=FIRST:COUNT of them. The log is
#                     $(GPU_DIR)/random.log; what fails is named by its number, and made small by tests/random_spec.py shrink
# make gpu-some       builds the products of set narrow (sources.py) whose names match SOME, and runs the quick checks and
#                     memcheck of them. The log is $(GPU_DIR)/some/some.log
# make gpu-judge      that, and then times the benchmark's products (JUDGED: main, large, quick) by the generators of two built
#                     source trees in turn: OLD=DIR, and NEW=DIR (default: this one). The log is $(GPU_DIR)/judge.log, the
#                     rows $(GPU_DIR)/judge/rows.tsv; JUDGE_OPTIONS: more for sweep_random.py
# make gpu-bench      times the benchmark's kernels: GPU_BENCH="main large" (default); large is lmax 4 and 5, whose
#                     kernels compile for minutes; quick is a few of main; sweep (and sweep_large) are golden cases
#                     with more channels, 100,000 items each, and a table of them, bench_sweep.md. Logs: bench_main.log, ..; the rows:
#                     bench_main.tsv, .., of which tests/gpu/compare.py OLD NEW compares two; drawn: bench.svg.
#                     GPU_OPTIONS=--help: options
#                     VARIANTS="DIR .." times the specs in these folders instead: the benchmark's products
#                     under different names and with different tune knobs; log: variants.log
#                     tests/gpu/sweep_random.py times layers drawn at random, and two generators in turn; it says how
# make gpu-ranks      a graph divided among the GPUs (docs/examples/ranks), compared with one of them and timed: carbon
#                     with 20,000 atoms. GPU_RANKS=2, GPU_NCCL=DIR: of NCCL's include/ and lib/ (default: that of PYTHON's
#                     package nvidia-nccl); log: ranks.log
#
# GPU_RUNTIME=runtime: the runtime that belongs to the sources.
# GPU_ARCH=sm_90 (default: the machine's own), GPU_JOBS=16, NVCC, NVCCFLAGS. GPU_BACKEND=c tries everything
# but the GPU: the C backend's output, on the host.

GPU_BACKEND ?= cuda
GPU_RUNTIME ?= runtime
GPU_DIR ?= build/gpu$(if $(filter cuda,$(GPU_BACKEND)),,-$(GPU_BACKEND))
GPU_TOLD := $(filter-out undefined,$(origin GPU_GENERATOR))
GPU_GENERATOR ?= $(BUILD)/cgtpgen
GPU_SETS ?= golden narrow quick_golden quick_narrow regress sanitize bench_quick bench_main bench_large bench_sweep \
    bench_sweep_large
GPU_BENCH ?= main large
GPU_ARCH ?= native
GPU_JOBS ?= $(shell nproc)
NVCC ?= $(firstword $(shell command -v nvcc) /usr/local/cuda/bin/nvcc)
NVCCFLAGS ?= -O3 -lineinfo
SANITIZER_TOOL ?= $(firstword $(shell command -v compute-sanitizer) \
    $(wildcard $(dir $(NVCC))compute-sanitizer) compute-sanitizer)
MODE ?= full
GPU_RANDOM ?= 0:100

.PHONY: gpu-sources gpu-check gpu-random gpu-some gpu-judge gpu-bench gpu-bench-library gpu-programs gpu-ranks

GPU_COMMIT = $(shell git describe --always --dirty 2>/dev/null || echo unknown)
GPU_GENERATE = $(call quoted,$(PYTHON)) tests/gpu/sources.py --generator=$(GPU_GENERATOR) --backend=$(GPU_BACKEND) \
    --out=$(GPU_DIR) --commit=$(GPU_COMMIT) --random=$(GPU_RANDOM)

gpu-sources: $(filter $(BUILD)/cgtpgen,$(GPU_GENERATOR))
	$(Q)$(GPU_GENERATE) $(GPU_SETS)

# ---- programs of one set of products: GPU_SET, the folder; GPU_PROGRAMS: bench, device, check_0, .. ----

GPU_SET ?= bench_main
GPU_PROGRAMS ?= bench
GPU_HERE := $(GPU_DIR)/$(GPU_SET)
GPU_OBJ := $(GPU_DIR)/obj
GPU_INCLUDE := -I$(GPU_RUNTIME) -Itests -Itests/gpu
GPU_OPENMP = $(eval GPU_OPENMP := $(OPENMP))$(GPU_OPENMP)
GPU_CC = $(CC) $(STANDARD) -O2 $(GPU_OPENMP) -MMD -MP $(GPU_INCLUDE)
GPU_NVCC = $(NVCC) -std=c++17 -arch=$(GPU_ARCH) $(NVCCFLAGS) -MMD -MP $(GPU_INCLUDE)
ifeq ($(GPU_BACKEND),cuda)
GPU_MEMORY := device_cuda cgtp_graph
GPU_LINK = $(NVCC) -arch=$(GPU_ARCH) $(addprefix -Xcompiler ,$(GPU_OPENMP))
else
GPU_MEMORY := device_host memory_host
GPU_LINK = $(CC) $(GPU_OPENMP)
GPU_CC += -DGPU_HOST
endif
GPU_COMMON := $(GPU_MEMORY) cgtp cgtp_check cgtp_ranks driver reference reference_kernels reference_wigner
GPU_OWN := $(GPU_COMMON) launch model sample
GPU_CHECKS := $(GPU_COMMON) golden_case $(patsubst tests/%.c,%,$(wildcard tests/check.c tests/check_*.c))
GPU_DEVICE := $(GPU_OWN) $(patsubst tests/gpu/%.c,%,$(wildcard tests/gpu/device_check*.c))
GPU_PRODUCTS := $(patsubst %,%.o,$(filter-out $(GPU_HERE)/table.c $(GPU_HERE)/shard_%.c, \
    $(wildcard $(GPU_HERE)/*.c $(GPU_HERE)/*.cu)))

# Rewritten only when they change, so that what depends on them is built again then.
$(GPU_DIR)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(GPU_CC) $(GPU_NVCC)' | cmp -s - $@ || echo '$(GPU_CC) $(GPU_NVCC)' > $@

vpath %.c tests tests/gpu $(GPU_RUNTIME)
vpath %.cu tests/gpu $(GPU_RUNTIME)

$(GPU_OBJ)/%.o: %.c $(GPU_DIR)/flags
	@mkdir -p $(@D)
	$(Q)$(GPU_CC) -c -o $@ $<
$(GPU_OBJ)/%.o: %.cu $(GPU_DIR)/flags
	@mkdir -p $(@D)
	$(Q)$(GPU_NVCC) -c -o $@ $<

# Generated sources are compiled as their users would.
$(GPU_HERE)/%.c.o: $(GPU_HERE)/%.c $(GPU_DIR)/flags
	$(Q)$(CC) -O2 $(if $(filter cuda,$(GPU_BACKEND)),,-march=native) -MMD -MP $(GPU_INCLUDE) -c -o $@ $<
$(GPU_HERE)/%.cu.o: $(GPU_HERE)/%.cu $(GPU_DIR)/flags
	$(Q)$(GPU_NVCC) -c -o $@ $<
$(GPU_HERE)/products.a: $(GPU_PRODUCTS)
	@rm -f $@
	$(Q)ar rcs $@ $^

GPU_LINKED = $(Q)$(GPU_LINK) -o $@ $^ -lm
GPU_BENCH_OBJECTS := $(addprefix $(GPU_OBJ)/,$(GPU_OWN:=.o) bench.o peers.o places.o timing.o)
$(GPU_HERE)/bench: $(GPU_BENCH_OBJECTS) $(GPU_HERE)/table.c.o $(GPU_HERE)/products.a
	$(GPU_LINKED)
$(GPU_HERE)/device: $(addprefix $(GPU_OBJ)/,$(GPU_DEVICE:=.o)) $(GPU_HERE)/table.c.o $(GPU_HERE)/products.a
	$(GPU_LINKED)
$(GPU_HERE)/check_%: $(addprefix $(GPU_OBJ)/,$(GPU_CHECKS:=.o)) $(GPU_HERE)/shard_%.c.o $(GPU_HERE)/products.a
	$(GPU_LINKED)
$(GPU_HERE)/types: $(GPU_OBJ)/types.o
	$(GPU_LINKED)
gpu-programs: $(addprefix $(GPU_HERE)/,$(GPU_PROGRAMS))

# What a program of one layer is linked with (sweep_random.py).
gpu-bench-library: $(GPU_DIR)/bench.a
$(GPU_DIR)/bench.a: $(GPU_BENCH_OBJECTS)
	@rm -f $@
	$(Q)ar rcs $@ $^

-include $(wildcard $(GPU_OBJ)/*.d $(GPU_HERE)/*.d)

# $(call GPU_BUILD,set,programs): the sources, then the programs.
GPU_SHARDS := $(addprefix check_,0 1 2 3 4 5 6 7)
GPU_BUILD = $(if $(GPU_TOLD),,test -f $(GPU_DIR)/$(1)/table.c ||) \
    $(MAKE) CC=$(call quoted,$(CC)) gpu-sources GPU_SETS=$(1) && \
    $(MAKE) CC=$(call quoted,$(CC)) -j$(GPU_JOBS) gpu-programs GPU_SET=$(1) GPU_PROGRAMS='$(2)'

GPU_PREFIX := $(if $(filter quick,$(MODE)),quick_)
gpu-check:
	$(Q)$(call GPU_BUILD,$(GPU_PREFIX)narrow,$(GPU_SHARDS) device $(if $(filter cuda,$(GPU_BACKEND)),types))
	$(Q)$(call GPU_BUILD,$(GPU_PREFIX)golden,$(GPU_SHARDS))
	$(Q)$(call GPU_BUILD,regress,$(GPU_SHARDS))
	$(Q)$(call GPU_BUILD,sanitize,$(GPU_SHARDS) device)
	$(Q)SANITIZER_TOOL='$(SANITIZER_TOOL)' sh tests/gpu/logged.sh $(GPU_DIR)/check.log \
	    sh tests/gpu/check.sh $(GPU_DIR) '$(GPU_PREFIX)'

# Other numbers are other sources: these are made each time.
gpu-random: $(filter $(BUILD)/cgtpgen,$(GPU_GENERATOR))
	$(Q)$(GPU_GENERATE) random
	$(Q)$(MAKE) CC=$(call quoted,$(CC)) -j$(GPU_JOBS) gpu-programs GPU_SET=random GPU_PROGRAMS='$(GPU_SHARDS) device'
	$(Q)SANITIZER_TOOL='$(SANITIZER_TOOL)' sh tests/gpu/logged.sh $(GPU_DIR)/random.log \
	    sh tests/gpu/check.sh $(GPU_DIR) random

# A folder of its own: set narrow is whole in the other.
SOME ?= .
gpu-some: $(filter $(BUILD)/cgtpgen,$(GPU_GENERATOR))
	$(Q)$(GPU_GENERATE) --out=$(GPU_DIR)/some --product='$(SOME)' narrow
	$(Q)$(MAKE) CC=$(call quoted,$(CC)) -j$(GPU_JOBS) gpu-programs GPU_DIR=$(GPU_DIR)/some GPU_SET=narrow \
	    GPU_PROGRAMS='$(GPU_SHARDS) device'
	$(Q)SANITIZER_TOOL='$(SANITIZER_TOOL)' sh tests/gpu/logged.sh $(GPU_DIR)/some/some.log \
	    sh tests/gpu/check.sh $(GPU_DIR)/some some

JUDGED ?= main
NEW ?= .
gpu-judge: gpu-some
	$(Q)sh tests/gpu/logged.sh $(GPU_DIR)/judge.log $(call quoted,$(PYTHON)) tests/gpu/sweep_random.py --published=$(JUDGED) \
	    --trees=$(OLD),$(NEW) --rounds=2 --jobs=$(GPU_JOBS) --arch=$(GPU_ARCH) --backend=$(GPU_BACKEND) \
	    --out=$(GPU_DIR)/judge $(JUDGE_OPTIONS)

GPU_DRAWN = $(filter-out sweep%,$(GPU_BENCH))
gpu-bench:
ifdef VARIANTS
	$(Q)$(GPU_GENERATE) $(VARIANTS:%=--variants=%) variants
	$(Q)$(MAKE) CC=$(call quoted,$(CC)) -j$(GPU_JOBS) gpu-programs GPU_SET=variants GPU_PROGRAMS=bench
	$(Q)sh tests/gpu/logged.sh $(GPU_DIR)/variants.log $(GPU_DIR)/variants/bench --variants $(GPU_OPTIONS)
else
	$(Q)$(foreach set,$(GPU_BENCH:%=bench_%),$(call GPU_BUILD,$(set),bench) &&) \
	    $(foreach set,$(GPU_BENCH:%=bench_%),sh tests/gpu/logged.sh $(GPU_DIR)/$(set).log \
	    $(GPU_DIR)/$(set)/bench --tsv=$(GPU_DIR)/$(set).tsv $(GPU_OPTIONS) &&) \
	    $(foreach set,$(filter sweep%,$(GPU_BENCH)), \
	    $(call quoted,$(PYTHON)) tests/gpu/sweep.py $(GPU_DIR)/bench_$(set).tsv > $(GPU_DIR)/bench_$(set).md &&) \
	    $(if $(GPU_DRAWN),$(call quoted,$(PYTHON)) tests/gpu/plot.py $(GPU_DRAWN:%=$(GPU_DIR)/bench_%.tsv) > $(GPU_DIR)/bench.svg,true)
endif

# As its users build it. NCCL's multicast needs more of a driver than the exchange does.
GPU_RANKS ?= 2
GPU_NCCL ?= $(shell $(call quoted,$(PYTHON)) -c 'import nvidia.nccl as n; print(list(n.__path__)[0])')
GPU_RANKS_ARCH ?= sm_90
gpu-ranks: $(filter $(BUILD)/cgtpgen,$(GPU_GENERATOR))
	$(Q)mkdir -p $(GPU_DIR)/ranks && cp docs/examples/ranks/* $(GPU_DIR)/ranks
	$(Q)env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(MAKE) -s -j$(GPU_JOBS) -C $(GPU_DIR)/ranks GPU=1 SPEC=large.yaml \
	    NCCL='$(GPU_NCCL)' NVCC='$(NVCC)' CGTPGEN='$(abspath $(GPU_GENERATOR))' RUNTIME='$(abspath runtime)' \
	    CGTPGEN_ARCH=$(GPU_RANKS_ARCH)
	$(Q)NCCL_NVLS_ENABLE=0 sh tests/gpu/logged.sh $(GPU_DIR)/ranks.log sh -c "nvidia-smi -L | sed 's/ (.*//; s/^/# /'; \
	    echo '# commit $(GPU_COMMIT)'; exec $(GPU_DIR)/ranks/ranks --ranks=$(GPU_RANKS) --cells=5,5,100 --check --time=20"
