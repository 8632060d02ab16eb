# make                  build/cgtpgen
# make test             every test but the long ones; ends with prove's summary
# make test T=tune      one test, or several: T='unit_spec tests/cli.t'
# make check            the quick ones: a minute of one core
# make help             this
# make test-all         the long ones too (TEST_ALL=1 in the environment of every test)
# make test-torch       --emit=torch, with PyTorch: TORCH_PYTHON is a python that has it (default: build/torch/venv's,
#                       which make torch-venv installs, some 3 GB; or PYTHON); make gpu-torch on a GPU
# make test-jax         --emit=jax, with JAX, likewise: JAX_PYTHON, make jax-venv; make gpu-jax on a GPU
# make bindings         both: all tests that need PyTorch and JAX alone
# make models           models of MACE, NequIP, SevenNet and Allegro with generated modules (tests/models/models.mk)
# make papers           tables of docs/papers.md, beside the libraries they are from (tests/papers/papers.mk)
# make fuzz             changed specs through the generator, guided by coverage (tests/fuzz/fuzz.mk; RUNS=100000)
# make coverage         lines and branches of the generator that tests run; fails where these are too few
# make demo             MACE's convolution on a diamond lattice: generated, built, run, verified (EDGES=20000);
#                       on the GPU where nvidia-smi and nvcc work, else in C (DEMO_BACKEND=c, =cuda: as told)
# make bench            the same timed against a dense loop, and against e3nn where PYTHON=... can import it
# make bench-precisions errors of types beside e3nn's, DEVICE=cuda with TF32; CC=- e3nn's alone
# make bench-stability  rounding errors of layers in float32 beside e3nn's, where PYTHON=... can import it
# make bench-generation how long the generator takes for every layer of specs/
# make generated        brings generated/ and docs/examples/report up to date; make check-generated shows what differs
# make install          PREFIX=/usr/local DESTDIR=; make uninstall removes what it wrote (a $ in a name is $$ for make)
# make dist             a static generator and all that belongs to it, as an archive to unpack anywhere; make static
#                       is the generator alone
# make deb              a Debian package; make rpm, make wheel, make sdist and, for all of them, make release: see
#                       runtime/python/package.mk
# make clean
#
# DEBUG=1 compiles for debuggers (-Og -g). V=1 shows the commands; CC=clang, CFLAGS=-O3 and so on as usual. SANITIZE=1 builds with ASan and UBSan in
# build/san.
#
# Tests: tests/unit_NAME.c becomes $(BUILD)/tests/unit_NAME, linked with the whole generator but main.o and with
# cmocka. tests/NAME.t is a script, run from here. Both print TAP and find these in their environment: CGTPGEN (the
# generator), BUILD, CC, CFLAGS, PYTHON, TEST_ALL. tests/rules.mk may add files to TEST_NEEDS (built before).

MAKEFLAGS += -rR --no-print-directory
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
Q := $(if $(V),,@)

# With -R, which sub-makes inherit before they read this, there is no default.
ifneq ($(filter default undefined,$(origin CC)),)
CC := gcc
endif
CFLAGS ?= $(if $(DEBUG),-Og -g,-O2)
PYTHON ?= python3
PREFIX ?= /usr/local
PROVE_JOBS ?= 2
VERSION = $(shell sed -n 's/^.define CGTPGEN_VERSION "\(.*\)"/\1/p' cgtpgen/util/version.h)
BUILD := $(if $(SANITIZE),build/san,build)
ifdef SANITIZE
SANITIZER := -g -fsanitize=address,undefined -fno-sanitize-recover=all
endif
# For the shell: as one word, whatever is in it.
quoted = '$(subst ','\'',$(1))'

# Make takes names apart at spaces, and shells at more: folders that stand in rules and commands have names without.
# $(call PLAIN,VARIABLE..): an error where one has not.
define PLAIN
$(foreach v,$(1),$(if $(filter 1,$(words $($(v)))),,$(error $(v) is '$($(v))': make needs a name without spaces)))
$(foreach v,$(1),$(if $(filter / ./ . .. ../ -% ~%,$($(v))),$(error $(v) is '$($(v))': it must be a folder of its own)))
$(foreach v,$(1),$(foreach c,' " ; & | < > * ? % \ ` ! [ ] { } : $$,$(if $(findstring $(c),$($(v))),\
    $(error $(v) is '$($(v))': make needs a name without $(c)))))
endef
# A $ that is no $$ begins the name of a variable, and a folder of that name is another one.
DOLLAR := $$
OPEN := (
$(foreach v,PREFIX DESTDIR BUILD,$(if $(findstring $(DOLLAR),$(subst $(DOLLAR){,,$(subst $(DOLLAR)$(OPEN),,$(subst \
    $(DOLLAR)$(DOLLAR),,$(value $(v)))))),$(error $(v) is '$(value $(v))': write $$$$ for a $$)))
$(call PLAIN,BUILD)
STANDARD := -std=c11 -D_POSIX_C_SOURCE=200809L -pthread -Wall -Wextra -Wpedantic
COMPILE = $(CC) $(STANDARD) -Icgtpgen $(CFLAGS) $(CPPFLAGS) $(SANITIZER) -MMD -MP -MF $@.d -MT $@

SOURCES := $(wildcard cgtpgen/*/*.c cgtpgen/*/*/*.c)
OBJECTS := $(SOURCES:cgtpgen/%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/runtime_texts.o
LIBRARY := $(filter-out $(BUILD)/obj/cli/main.o,$(OBJECTS))
UNITS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit_*.c))
SCRIPTS := $(wildcard tests/*.t)
# The runtime of the host, which tests are linked with.
RUNTIME_OBJECTS := $(addprefix $(BUILD)/obj/runtime/,cgtp.o cgtp_check.o cgtp_ranks.o)
TEST_NEEDS :=

# What `make test` runs: the tests named by T, or all, those first that take longest, so that none is left to run
# alone at the end.
LONG := $(patsubst %,tests/%.t,simt_golden sass cuda compilers tables docs simt_types fuzz simt_turns simt_order \
    build_systems names golden_optimized platforms tables_host simulation tables_text drawn \
    golden_double memory first ranks effort install tuner uninstall selftest cmake bare uses \
    strided limits simt flags analyzer tune ptxas_table simt_mutants embed torch models jax)
TESTS := $(filter $(SCRIPTS),$(LONG)) $(UNITS) $(filter-out $(LONG),$(SCRIPTS))
ifdef T
NAMED := $(basename $(notdir $(T)))
TESTS := $(foreach name,$(NAMED),$(or $(filter $(BUILD)/tests/$(name) tests/$(name).t,$(TESTS)), \
    $(error no test is named $(name))))
endif

.PHONY: all help check test test-all bindings test-torch gpu-torch torch-venv test-jax gpu-jax jax-venv demo bench bench-precisions bench-stability bench-generation generated check-generated \
    install uninstall static dist deb clean FORCE
all: $(BUILD)/cgtpgen
	@echo '$< is built. $(if $(MAKECMDGOALS),,make help lists what else there is to make.)'

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

-include runtime/python/package.mk
-include tests/rules.mk
-include tests/fuzz/fuzz.mk
-include tests/gpu/gpu.mk
-include tests/models/models.mk
-include tests/papers/papers.mk
$(call PLAIN,$(foreach v,COVERAGE FUZZ_DIR GPU_DIR MODELS,$(if $($(v)),$(v))))

# Rewritten only when the compiler or its flags change, so that what depends on it is built again then.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@if ! echo $(call quoted,$(COMPILE) $(LDFLAGS)) | cmp -s - $@; then \
	    echo | $(CC) $(CPPFLAGS) $(CFLAGS) -E - > /dev/null || \
	    { echo 'The compiler does not work: look at CC, CPPFLAGS and CFLAGS.' >&2; exit 1; }; \
	    printf '#ifdef __cplusplus\n#error C++\n#endif\n' > $(@D)/language.c && \
	    if ! $(CC) $(CPPFLAGS) $(CFLAGS) -E $(@D)/language.c > /dev/null 2>&1; then \
	    echo '$(CC) compiles C++, and cgtpgen is C11: set CC to a compiler of C, as gcc or clang.' >&2; exit 1; fi; \
	    echo '#include <yaml.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) -E - > /dev/null 2>&1 || \
	    { echo "There is no <yaml.h>: install libyaml's development files (on Debian, libyaml-dev)." >&2; exit 1; }; \
	    echo $(call quoted,$(COMPILE) $(LDFLAGS)) > $@; \
	    echo 'Compiling $(words $(OBJECTS)) files, some 20 seconds of one core; make -j takes several.'; \
	fi

$(BUILD)/obj/%.o: cgtpgen/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(INSTRUMENT) -c -o $@ $<

# The runtime as tables of lines, which --emit=runtime writes (cgtpgen/emit/runtime.h).
RUNTIME_TEXTS := $(sort $(wildcard runtime/*.[ch] runtime/*.cu)) LICENSE
$(BUILD)/runtime_texts.c: $(RUNTIME_TEXTS) Makefile
	@mkdir -p $(@D)
	$(Q){ echo '#include "emit/runtime.h"' && echo '#include <stddef.h>' && n=0 && for file in $(RUNTIME_TEXTS); do \
	    n=$$((n + 1)); echo "static const char *const text_$$n[] = {"; \
	    sed 's/[\\"?]/\\&/g; s/.*/    "&\\n",/' $$file; echo '    NULL};'; done && \
	    echo 'const struct runtime_text runtime_texts[] = {' && n=0 && for file in $(RUNTIME_TEXTS); do \
	    n=$$((n + 1)); name=$${file#runtime/}; [ $$name != LICENSE ] || name=cgtp_LICENSE.txt; \
	    echo "    {\"$$name\", text_$$n},"; done && echo '    {NULL, NULL}};'; } > $@
$(BUILD)/obj/runtime_texts.o: $(BUILD)/runtime_texts.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c -o $@ $<

$(BUILD)/cgtpgen: $(OBJECTS)
	$(Q)$(CC) $(SANITIZER) $(INSTRUMENT) $(LDFLAGS) -o $@ $^ -lyaml -pthread

$(BUILD)/obj/runtime/%.o: runtime/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c -o $@ $<

$(BUILD)/tests/unit_%: tests/unit_%.c $(LIBRARY) $(RUNTIME_OBJECTS) $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(INSTRUMENT) -Iruntime -Itests $(LDFLAGS) -o $@ $< $(filter %.o,$^) -lcmocka -lyaml -pthread -lm

# What a downstream build needs: the generator, the runtime to compile and link, and how to find both (pkg-config;
# the Makefile fragment runtime/cgtpgen.mk; a package for CMake); and what people read. INSTALL_PROGRAM is the
# generator that is installed, INSTALL_PREFIX what the pkg-config file says, if that is not PREFIX.
#
# PREFIX and DESTDIR may be any folder. INSTALL_LIST, in the prefix, has the checksum of every file that was written and
# its path, and the folders that were not there before: by it `make uninstall` removes what is still as it was
# installed, and names what it leaves. Files of an earlier installation stay on the list.
EXAMPLES := $(patsubst %/,%,$(wildcard docs/examples/*/ docs/examples/*/*/ docs/examples/*/*/*/))
INSTALL_PROGRAM := $(BUILD)/cgtpgen
INSTALL_PREFIX :=
INSTALL_LIST := share/cgtpgen/installed
INSTALL_PYTHON := cgtpgen cgtpgen/models
INSTALL_FOLDERS := . bin share share/cgtpgen share/cgtpgen/meson share/cgtpgen/python \
    $(INSTALL_PYTHON:%=share/cgtpgen/python/%) share/man share/man/man1 share/pkgconfig share/doc share/doc/cgtpgen \
    share/doc/cgtpgen/examples $(EXAMPLES:docs/%=share/doc/cgtpgen/%) share/bash-completion \
    share/bash-completion/completions share/zsh share/zsh/site-functions
FILES_IN = $(foreach file,$(filter-out %/__pycache__,$(wildcard $(1)/*)),$(if $(wildcard $(file)/.),,$(file)))
# What goes where, for the shell: put FOLDER SOURCE.. and place FILE SOURCE.
INSTALL_FILES = put share/cgtpgen $(call FILES_IN,runtime) docs/spec.schema.json; \
    put share/cgtpgen/meson $(call FILES_IN,runtime/meson); \
    $(foreach folder,$(INSTALL_PYTHON),put share/cgtpgen/python/$(folder) $(wildcard runtime/python/$(folder)/*.py);) \
    put share/man/man1 docs/cgtpgen.1; \
    put share/doc/cgtpgen LICENSE $(call FILES_IN,docs); \
    $(foreach example,$(EXAMPLES),put $(example:docs/%=share/doc/cgtpgen/%) $(call FILES_IN,$(example));) \
    place share/bash-completion/completions/cgtpgen docs/completion/cgtpgen.bash; \
    place share/zsh/site-functions/_cgtpgen docs/completion/_cgtpgen
INSTALL_ROOT = root=$(call quoted,$(DESTDIR)$(PREFIX)); case $$root in /*) ;; *) root=$$(pwd)/$$root ;; esac

install: $(INSTALL_PROGRAM)
	$(Q)set -eu; $(INSTALL_ROOT); list=$(INSTALL_LIST); files= new=; \
	for folder in $(INSTALL_FOLDERS); do \
	    [ -d "$$root/$$folder" ] || { new="$$new $$folder"; mkdir -p -- "$$root/$$folder"; }; \
	done; \
	place() { install -m 644 -- "$$2" "$$root/$$1"; files="$$files $$1"; }; \
	put() { to=$$1; shift; for source; do place "$$to/$${source##*/}" "$$source"; done; }; \
	install -- $(call quoted,$(INSTALL_PROGRAM)) "$$root/bin/cgtpgen"; \
	$(INSTALL_FILES); \
	printf '%s\n' 'set(PACKAGE_VERSION $(VERSION))' 'if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)' \
	    '    set(PACKAGE_VERSION_UNSUITABLE TRUE)' 'endif()' 'set(PACKAGE_VERSION_COMPATIBLE TRUE)' \
	    'if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)' '    set(PACKAGE_VERSION_EXACT TRUE)' 'endif()' \
	    > "$$root/share/cgtpgen/cgtpgen-config-version.cmake"; \
	prefix=$(call quoted,$(PREFIX)); case $$prefix in /*) ;; *) prefix=$$(pwd)/$$prefix ;; esac; \
	prefix=$${prefix%/}; \
	case $$prefix in *' '*) echo "make install: no Makefile can include $$prefix/share/cgtpgen/cgtpgen.mk, as its name has a \
	space; CMake and Meson can" ;; esac; \
	$(if $(INSTALL_PREFIX),prefix=$(call quoted,$(INSTALL_PREFIX));) \
	printf '%s\n' "prefix=$$prefix" 'datadir=$${prefix}/share/cgtpgen' 'makefile=$${datadir}/cgtpgen.mk' \
	    'generator=$${prefix}/bin/cgtpgen' '' 'Name: cgtpgen' \
	    'Description: source code for O(3)-equivariant tensor products' "Version: $(VERSION)" \
	    'Cflags: -I"$${datadir}"' > "$$root/share/pkgconfig/cgtpgen.pc"; \
	files="$$files bin/cgtpgen share/cgtpgen/cgtpgen-config-version.cmake share/pkgconfig/cgtpgen.pc"; \
	[ "$$list" ] || exit 0; \
	CDPATH= cd -- "$$root"; \
	{ cksum $$files; for folder in $$new; do echo "folder $$folder"; done; } > "$$list.new"; \
	[ ! -f "$$list" ] || awk 'NR == FNR { listed[$$NF] } NR != FNR && !($$NF in listed)' "$$list.new" "$$list" > "$$list.old"; \
	[ ! -f "$$list.old" ] || { cat "$$list.old" >> "$$list.new"; rm "$$list.old"; }; \
	mv "$$list.new" "$$list"

uninstall:
	$(Q)set -u; $(INSTALL_ROOT); list=$(INSTALL_LIST) changed=' '; \
	CDPATH= cd -- "$$root" && [ -f "$$list" ] || \
	    { echo "make uninstall: there is no $$root/$$list, which would say what was installed: nothing is removed" >&2; exit 1; }; \
	while read -r sum size path; do \
	    case $$sum/$$path in folder/* | */ | *//* | *..*) continue ;; esac; \
	    if [ -f "$$path" ] && [ ! -L "$$path" ] && [ "$$(cksum < "$$path")" = "$$sum $$size" ]; then \
	        rm -- "$$path" || exit 1; \
	    elif [ -e "$$path" ] || [ -L "$$path" ]; then \
	        changed="$$changed$$path "; echo "make uninstall: $$root/$$path was changed since it was installed: it stays"; \
	    fi; \
	done < "$$list"; \
	folders=$$({ sed -n 's/^folder //p' "$$list"; find share/cgtpgen share/doc/cgtpgen -type d; } | sort -ru); \
	rm -- "$$list"; \
	find share/cgtpgen share/doc/cgtpgen ! -type d | while IFS= read -r path; do \
	    case $$changed in *" $$path "*) ;; *) echo "make uninstall: $$root/$$path was not installed: it stays" ;; esac; \
	done; \
	printf '%s\n' "$$folders" | while IFS= read -r folder; do \
	    if [ "$$folder" = . ]; then CDPATH= cd .. && rmdir -- "$$root" 2> /dev/null; \
	    else rmdir -- "$$folder" 2> /dev/null; fi; \
	done; true

# Packages of a generator that needs no library, not even libc's.
$(BUILD)/static/cgtpgen: $(OBJECTS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZER) $(LDFLAGS) -static -o $@ $^ -lyaml -pthread
static: $(BUILD)/static/cgtpgen

# An installation that works wherever it is unpacked.
DIST = cgtpgen-$(VERSION)-$(shell uname -s | tr A-Z a-z)-$(shell uname -m)
dist: $(BUILD)/static/cgtpgen
	$(Q)rm -rf $(BUILD)/dist
	$(Q)$(MAKE) install INSTALL_PROGRAM=$< DESTDIR=$(BUILD)/dist PREFIX=/$(DIST) INSTALL_LIST= \
	    INSTALL_PREFIX='$$$${pcfiledir}/../..'
	$(Q)strip $(BUILD)/dist/$(DIST)/bin/cgtpgen
	$(Q)$(call PACKED,$(BUILD)/dist,$(DIST)) > $(BUILD)/$(DIST).tar.gz
	@echo $(BUILD)/$(DIST).tar.gz

# What tests need is built by as many jobs as tests are run by, unless make was told how many.
#
# These two pack the archives anew: one after the other.
PROVE_RULES := --rules='seq=tests/{package,recipes}.t' --rules='par=**'

# Where python3 is a script that looks for an interpreter, as of pyenv, that takes longer than the interpreter to start:
# tests find one that has been looked for.
.PHONY: test-needs
test-needs: $(BUILD)/cgtpgen $(filter $(UNITS),$(TESTS)) $(TEST_NEEDS)
test:
	$(Q)$(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(PROVE_JOBS)) test-needs
	$(Q)mkdir -p $(BUILD)/bin
	$(Q)python3 -c 'import sys; print(f"#!/bin/sh\nexec \"{sys.executable}\" \"$$@\"")' > $(BUILD)/bin/python3.new
	$(Q)chmod +x $(BUILD)/bin/python3.new && mv $(BUILD)/bin/python3.new $(BUILD)/bin/python3
	$(Q)PATH="$(abspath $(BUILD))/bin:$$PATH" \
	    CGTPGEN='$(BUILD)/cgtpgen' BUILD='$(BUILD)' CC=$(call quoted,$(CC)) CFLAGS=$(call quoted,$(CFLAGS)) \
	    PYTHON=$(call quoted,$(PYTHON)) TEST_ALL=$(call quoted,$(TEST_ALL)) prove -e '' -j$(PROVE_JOBS) $(PROVE_RULES) $(TESTS) \
	    2> $(BUILD)/test.log || { cat $(BUILD)/test.log >&2; exit 1; }

# Those that take a second or so each, of which all together take a minute.
CHECKED := cli bad diagnostics completion house schema sugar counts color tune vendoring docs_tables specs
check:
	$(Q)$(MAKE) test T='$(UNITS) $(CHECKED)'

test-all:
	$(Q)$(MAKE) test TEST_ALL=1

# PyTorch and JAX are needed for one test each, which is skipped without.
bindings: test-torch test-jax
TORCH_VENV := build/torch/venv
TORCH_PYTHON ?= $(if $(wildcard $(TORCH_VENV)/bin/python),$(abspath $(TORCH_VENV))/bin/python,$(PYTHON))
test-torch: $(BUILD)/cgtpgen
	$(Q)CGTPGEN='$(BUILD)/cgtpgen' BUILD='$(BUILD)' TEST_TORCH=1 TORCH_PYTHON=$(call quoted,$(TORCH_PYTHON)) prove -v -e '' tests/torch.t
# The same on a GPU, where TORCH_PYTHON has PyTorch for CUDA, and what a call costs.
gpu-torch: $(filter $(BUILD)/cgtpgen,$(GPU_GENERATOR))
	$(Q)$(call quoted,$(TORCH_PYTHON)) tests/torch/gpu.py build $(GPU_GENERATOR) $(GPU_DIR)/torch
	$(Q)$(call quoted,$(TORCH_PYTHON)) tests/torch/gpu.py run $(GPU_DIR)/torch
	$(Q)$(call quoted,$(TORCH_PYTHON)) tests/torch/gpu_lists.py $(GPU_DIR)/torch/site/products
	$(Q)DEVICE=cuda $(call quoted,$(TORCH_PYTHON)) tests/torch/check.py $(GPU_DIR)/torch/site/products golden gradients closure
torch-venv:
	$(Q)$(call quoted,$(PYTHON)) -m venv $(TORCH_VENV)
	$(Q)$(TORCH_VENV)/bin/pip install 'torch>=2.10' 'setuptools>=70.1' numpy
JAX_VENV := build/jax/venv
JAX_PYTHON ?= $(if $(wildcard $(JAX_VENV)/bin/python),$(abspath $(JAX_VENV))/bin/python,$(PYTHON))
test-jax: $(BUILD)/cgtpgen
	$(Q)CGTPGEN='$(BUILD)/cgtpgen' BUILD='$(BUILD)' TEST_JAX=1 JAX_PYTHON=$(call quoted,$(JAX_PYTHON)) prove -v -e '' tests/jax.t
# The same on a GPU, where JAX_PYTHON has JAX for CUDA, and what a call costs.
gpu-jax: $(filter $(BUILD)/cgtpgen,$(GPU_GENERATOR))
	$(Q)$(call quoted,$(JAX_PYTHON)) tests/jax/gpu.py build $(GPU_GENERATOR) $(GPU_DIR)/jax
	$(Q)$(call quoted,$(JAX_PYTHON)) tests/jax/gpu.py run $(GPU_DIR)/jax
	$(Q)$(call quoted,$(JAX_PYTHON)) tests/jax/check.py $(GPU_DIR)/jax/site/products golden gradients closure transforms graphs batches errors
jax-venv:
	$(Q)$(call quoted,$(PYTHON)) -m venv $(JAX_VENV)
	$(Q)$(JAX_VENV)/bin/pip install 'jax>=0.10' 'setuptools>=70.1' flatbuffers e3nn-jax

# Generated code is compiled as its users would: no language standard given, so that compilers may fuse multiply
# and add.
FAST := -O3 -march=native
REFERENCE_SOURCES := $(wildcard tests/reference*.c)
OPENMP = $(shell echo 'int main(void) { return 0; }' | \
    $(CC) -fopenmp -x c -o /dev/null - 2>/dev/null && echo -fopenmp)
DEMO_SPEC := specs/mace_large.yaml
DEMO_INCLUDE := -Iruntime -Itests -Itests/gpu
DEMO_BACKEND ?= $(if $(shell nvidia-smi -L > /dev/null 2>&1 && command -v $(NVCC)),cuda,c)
DEMO_NEEDS := $(wildcard tests/demo/*.[ch] runtime/*.[ch]) tests/memory_host.c tests/gpu/device_host.c \
    $(REFERENCE_SOURCES)

# A generator that is named (GPU_GENERATOR, tests/gpu/gpu.mk) is taken as it is, and asked each time; files that
# do not change keep their times.
DEMO_GENERATOR := $(filter $(BUILD)/cgtpgen,$(GPU_GENERATOR)) $(if $(GPU_TOLD),FORCE)

$(BUILD)/demo/mace_large.h: $(DEMO_GENERATOR) $(DEMO_SPEC)
	@mkdir -p $(@D)
	$(Q)$(GPU_GENERATOR) --backend=c -o $(@D) $(DEMO_SPEC)

$(BUILD)/demo/demo: $(BUILD)/demo/mace_large.h $(DEMO_NEEDS) $(BUILD)/flags
	$(Q)$(CC) $(FAST) $(OPENMP) $(DEMO_INCLUDE) -I$(@D) -o $@ $(filter-out runtime/% %.h,$(DEMO_NEEDS)) \
	    runtime/cgtp.c $(@D)/mace_large*.c -lm

# The same on a GPU.
DEMO_CUDA := $(BUILD)/demo/cuda
DEMO_CUDA_FILES := $(addprefix $(DEMO_CUDA)/mace_large,.h .c _forward.cu _backward.cu _double_backward.cu)
DEMO_CUDA_OBJECTS := $(addprefix $(DEMO_CUDA)/,demo.o carbon.o) \
    $(addsuffix .o,$(filter-out %.h,$(DEMO_CUDA_FILES))) \
    $(addprefix $(GPU_OBJ)/,device_cuda.o cgtp.o reference.o reference_kernels.o reference_wigner.o)

$(DEMO_CUDA)/stamp: $(DEMO_GENERATOR) $(DEMO_SPEC)
	@mkdir -p $(@D)
	$(Q)$(GPU_GENERATOR) --backend=cuda -o $(@D) $(DEMO_SPEC)
	@touch $@
$(DEMO_CUDA_FILES): $(DEMO_CUDA)/stamp ;

$(DEMO_CUDA)/%.o: tests/demo/%.c $(DEMO_CUDA)/mace_large.h $(GPU_DIR)/flags
	$(Q)$(GPU_CC) -I$(@D) -c -o $@ $<
$(DEMO_CUDA)/%.c.o: $(DEMO_CUDA)/%.c $(GPU_DIR)/flags
	$(Q)$(GPU_CC) -c -o $@ $<
$(DEMO_CUDA)/%.cu.o: $(DEMO_CUDA)/%.cu $(GPU_DIR)/flags
	$(Q)$(GPU_NVCC) -c -o $@ $<
$(DEMO_CUDA)/demo: $(DEMO_CUDA_OBJECTS)
	$(Q)$(NVCC) -arch=$(GPU_ARCH) -o $@ $^ -lm
-include $(wildcard $(DEMO_CUDA)/*.d)

demo:
	$(Q)backend='$(DEMO_BACKEND)'; case $$backend in \
	    c) here=$(BUILD)/demo; kernels=c;; \
	    cuda) here=$(DEMO_CUDA); kernels=cu;; \
	    *) echo "DEMO_BACKEND is c or cuda, not $$backend" >&2; exit 2;; esac; \
	$(MAKE) -j$(GPU_JOBS) $$here/demo && \
	echo "Generated from $(DEMO_SPEC), backend $$backend:" && \
	wc -l $$here/mace_large.[ch] $$here/mace_large_*.$$kernels && \
	$$here/demo $(EDGES)

# One thread: no OpenMP.
BENCH_EDGES := 10000
BENCH = $(CC) $(1) -Iruntime -Itests -Itests/demo -I$(BUILD)/demo -o $@ $< tests/demo/carbon.c \
    $(REFERENCE_SOURCES) runtime/cgtp.c $(BUILD)/demo/mace_large*.c -lm
BENCH_NEEDS := tests/bench/bench.c $(BUILD)/demo/mace_large.h tests/demo/carbon.c runtime/cgtp_c.h \
    $(REFERENCE_SOURCES) $(BUILD)/flags

$(BUILD)/bench/native: $(BENCH_NEEDS)
	@mkdir -p $(@D)
	$(Q)$(call BENCH,$(FAST))
$(BUILD)/bench/plain: $(BENCH_NEEDS)
	@mkdir -p $(@D)
	$(Q)$(call BENCH,-O3)
$(BUILD)/bench/unset: $(BENCH_NEEDS)
	@mkdir -p $(@D)
	$(Q)$(call BENCH,)

bench-generation: $(BUILD)/cgtpgen
	$(Q)$(call quoted,$(PYTHON)) tests/bench/generation.py $< specs/*.yaml

STABILITY_SPECS := mace_large mace_medium nequip_lips nequip_revmd17_aspirin nequip_water sevennet_l3i5_layer2 \
    flashtp_table5_lmax3
PRECISIONS_SPECS := mace_large nequip_water sevennet_l3i5_layer2
bench-stability: $(BUILD)/cgtpgen
	$(Q)$(call quoted,$(PYTHON)) tests/bench/stability.py $(BUILD)/bench/stability $< $(call quoted,$(CC)) $(STABILITY_SPECS:%=specs/%.yaml)

DEVICE ?= cpu
bench-precisions: $(BUILD)/cgtpgen
	$(Q)$(call quoted,$(PYTHON)) tests/bench/precisions.py $(BUILD)/bench/precisions $< $(call quoted,$(CC)) $(DEVICE) \
	    $(PRECISIONS_SPECS:%=specs/%.yaml)

bench: $(BUILD)/cgtpgen $(BUILD)/bench/native $(BUILD)/bench/plain $(BUILD)/bench/unset
	$(Q)$(call quoted,$(PYTHON)) tests/bench/bench.py $(BUILD)/bench $< $(DEMO_SPEC) $(BENCH_EDGES)

# Output that is kept in the repository, as samples and to see in review what a change of the generator does.
GENERATED := nequip_water tetris_poly_2 mace_large
GENERATED_CUDA := nequip_water mace_large
GENERATE_C = $< $(1) --backend=c -o generated $(GENERATED:%=specs/%.yaml)
GENERATE_CUDA = $< $(1) --backend=cuda -o generated/cuda $(GENERATED_CUDA:%=specs/%.yaml)
GENERATE_TORCH = $< $(1) --backend=cuda --emit=torch -o generated/torch specs/nequip_water.yaml
GENERATE_JAX = $< $(1) --backend=cuda --emit=jax -o generated/jax specs/nequip_water.yaml
GENERATE_REPORT = $< $(1) --emit=report --measured=docs/examples/report/mace_large.tsv -o docs/examples/report \
    specs/mace_large.yaml
generated: $(BUILD)/cgtpgen
	$(Q)$(call GENERATE_C)
	$(Q)$(call GENERATE_CUDA)
	$(Q)$(call GENERATE_TORCH)
	$(Q)$(call GENERATE_JAX)
	$(Q)$(call GENERATE_REPORT)
check-generated: $(BUILD)/cgtpgen
	$(Q)$(call GENERATE_C,--check); c=$$?; $(call GENERATE_CUDA,--check) || c=$$?; \
	    $(call GENERATE_TORCH,--check) || c=$$?; \
	    $(call GENERATE_JAX,--check) || c=$$?; \
	    $(call GENERATE_REPORT,--check) && exit $$c

clean:
	$(Q)rm -rf build

-include $(OBJECTS:=.d) $(UNITS:=.d) $(wildcard $(BUILD)/obj/runtime/*.d)
