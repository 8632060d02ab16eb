# SPDX-License-Identifier: MIT
# cgtpgen.mk - for GNU Make (4.0 or later): generates products and compiles them, with the runtime, for linking.
#
#     CGTPGEN_SPECS = specs/mace_large.yaml
#     include $(shell pkg-config --print-errors --variable=makefile cgtpgen)
#
#     program: program.o $(CGTPGEN_LIBRARY)
#     	$(CGTPGEN_LINK) -o $@ $^
#     program.o: program.c $(CGTPGEN_HEADERS)
#     	$(CC) $(CFLAGS) $(CGTPGEN_CPPFLAGS) -c -o $@ $<
#     clean: cgtpgen-clean
#     	rm -f program program.o
#
# CGTPGEN_OBJECTS  all objects: products, cgtp.c, cgtp_check.c, cgtp_ranks.c and, on GPUs, cgtp_graph.cu
# CGTPGEN_LIBRARY  the same as an archive, from which a program takes what it uses
# CGTPGEN_LINK     links them: $(NVCC), which knows CUDA's libraries, or $(CC) with OpenMP's
# CGTPGEN_HEADERS  the generated headers
# CGTPGEN_CPPFLAGS  where these and the runtime's are; for nvcc too
# CGTPGEN_CLEAN    every file that is made here; the target cgtpgen-clean removes them
#
# CC, CPPFLAGS, CFLAGS and AR are make's; they are read at the include. Set before it where the defaults do not fit:
#
# CGTPGEN_BACKEND  cuda or c
# CGTPGEN_ARCH     cuda: what to plan and compile for (sm_90)
# NVCC, NVCCFLAGS  cuda: the compiler and its options (nvcc, -std=c++17); -gencode=.. adds architectures
# CGTPGEN_CFLAGS, CGTPGEN_NVCCFLAGS  how the objects made here are optimised, after CFLAGS and NVCCFLAGS, whatever these
#                  say (-O3); "-O3 -march=native" is fastest, for this machine alone
# CGTPGEN_OPENMP   c: threads (-fopenmp where the compiler has it); empty: one thread
# CGTPGEN          the generator: a program, found by PATH or where this file was installed
# CGTPGEN_OPTIONS  more options of it
# CGTPGEN_DIR      where everything goes (cgtpgen-out)
# CGTPGEN_CLEAN_GOALS  goals for which nothing is generated (%clean)
#
# What is made again, and when: sources when a spec, a generated file (it was deleted), the generator or its command
# changes, objects when their sources, headers, the runtime or the compiler's command do. Sources are made while make
# reads its makefiles, with `make -n` and `make -q` too. The project may be in a folder whose name has spaces, and so
# may the generator; CGTPGEN_DIR, specs and the folder of this file may not, for make takes names apart at spaces.
#
# CGTPGEN_DIR may be a folder of one's own, even `.`: what is made there is named after products or begins with cgtp or
# libcgtpgen.

CGTPGEN_DATA := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
CGTPGEN ?= $(or $(if $(shell command -v cgtpgen),cgtpgen),$(abspath $(wildcard $(CGTPGEN_DATA)/../../bin/cgtpgen)),cgtpgen)
CGTPGEN_BACKEND ?= cuda
CGTPGEN_ARCH ?= sm_90
CGTPGEN_DIR ?= cgtpgen-out
CGTPGEN_CLEAN_GOALS ?= %clean
NVCC ?= nvcc
NVCCFLAGS ?= -std=c++17
CGTPGEN_CFLAGS ?= -O3
CGTPGEN_NVCCFLAGS ?= -O3

CGTPGEN_GOAL := $(.DEFAULT_GOAL)
CGTPGEN_CUDA := $(filter cuda,$(CGTPGEN_BACKEND))
CGTPGEN_CPPFLAGS := -I$(CGTPGEN_DIR) -I$(CGTPGEN_DATA)
ifeq ($(origin CGTPGEN_OPENMP),undefined)
CGTPGEN_OPENMP := $(if $(CGTPGEN_CUDA),,$(shell \
    echo 'int main(void) { return 0; }' | $(CC) -fopenmp -x c -o /dev/null - 2> /dev/null && echo -fopenmp))
endif
# What shells or make read as something else than a letter.
CGTPGEN_SPECIAL := ' " ; & | < > * ? % \ ` ! [ ] { } ( ) : = $$ \#
CGTPGEN_ODD = $(strip $(foreach c,$(CGTPGEN_SPECIAL),$(findstring $(c),$(1))))
CGTPGEN_PROGRAM := $(if $(filter-out 1,$(words $(CGTPGEN)))$(call CGTPGEN_ODD,$(CGTPGEN)),'$(subst ','\'',$(CGTPGEN))',$(CGTPGEN))
CGTPGEN_GENERATE := $(CGTPGEN_PROGRAM) --backend=$(CGTPGEN_BACKEND) $(if $(CGTPGEN_CUDA),--arch=$(CGTPGEN_ARCH)) \
    $(CGTPGEN_OPTIONS) -o $(CGTPGEN_DIR) $(CGTPGEN_SPECS)
CGTPGEN_CC := $(CC) $(CPPFLAGS) $(CFLAGS) $(CGTPGEN_CFLAGS) $(CGTPGEN_OPENMP) $(CGTPGEN_CPPFLAGS) -MMD -MP -c
CGTPGEN_NVCC := $(NVCC) -arch=$(CGTPGEN_ARCH) $(NVCCFLAGS) $(CGTPGEN_NVCCFLAGS) $(CGTPGEN_CPPFLAGS) -MMD -MP -c
CGTPGEN_LINK := $(if $(CGTPGEN_CUDA),$(NVCC) -arch=$(CGTPGEN_ARCH),$(strip $(CC) $(CGTPGEN_OPENMP)))
CGTPGEN_LIBRARY := $(CGTPGEN_DIR)/libcgtpgen.a
CGTPGEN_LIST := $(CGTPGEN_DIR)/cgtpgen-products.mk

ifneq ($(words $(CGTPGEN_DIR)),1)
$(error cgtpgen.mk: CGTPGEN_DIR is '$(CGTPGEN_DIR)': make needs a name without spaces)
endif
ifneq ($(call CGTPGEN_ODD,$(CGTPGEN_DIR))$(filter -% ~%,$(CGTPGEN_DIR)),)
$(error cgtpgen.mk: CGTPGEN_DIR is '$(CGTPGEN_DIR)': make needs a name without $(or $(call \
    CGTPGEN_ODD,$(CGTPGEN_DIR)),- or ~ at its beginning))
endif
ifeq ($(wildcard $(CGTPGEN_DATA)/cgtp.h),)
$(error cgtpgen.mk: its folder, of which make sees '$(CGTPGEN_DATA)', must have a name without spaces, with the runtime in it)
endif

# Is something to be built? `make clean` alone needs neither a generator nor specs that are right.
CGTPGEN_ACTIVE := $(if $(MAKECMDGOALS),$(filter-out $(CGTPGEN_CLEAN_GOALS),$(MAKECMDGOALS)),all)

# The files that were generated last, in CGTPGEN_FILES. The list is made by a rule below; having made it make begins
# anew. An empty list stands for none, as make would say that there is no such file.
CGTPGEN_FILES :=
ifneq ($(CGTPGEN_ACTIVE),)
ifeq ($(wildcard $(CGTPGEN_LIST)),)
$(shell mkdir -p $(CGTPGEN_DIR) && : > $(CGTPGEN_LIST))
endif
endif
include $(if $(CGTPGEN_ACTIVE),$(CGTPGEN_LIST),$(wildcard $(CGTPGEN_LIST)))
CGTPGEN_HEADERS := $(filter %.h,$(CGTPGEN_FILES))
CGTPGEN_OBJECTS := $(addsuffix .o,$(filter %.c %.cu,$(CGTPGEN_FILES)) \
    $(addprefix $(CGTPGEN_DIR)/,cgtp.c cgtp_check.c cgtp_ranks.c $(if $(CGTPGEN_CUDA),cgtp_graph.cu)))
CGTPGEN_CLEAN := $(CGTPGEN_FILES) $(CGTPGEN_OBJECTS) $(CGTPGEN_OBJECTS:.o=.d) $(CGTPGEN_LIBRARY) $(CGTPGEN_LIST) \
    $(patsubst %,$(CGTPGEN_DIR)/cgtpgen-%.command,generate archive cc nvcc)

ifneq ($(CGTPGEN_ACTIVE),)

# Checksums instead of times: what is installed may be older than what was made before it came.
CGTPGEN_SUM := $(shell program=$$(command -v $(CGTPGEN_PROGRAM)) && cksum < "$$program")
ifeq ($(CGTPGEN_SUM),)
$(error cgtpgen.mk: there is no program '$(CGTPGEN)'; install cgtpgen, or set CGTPGEN to where it is)
endif
CGTPGEN_RUNTIME_SUM := $(shell cat $(wildcard $(addprefix $(CGTPGEN_DATA)/,*.h *.c *.cu)) | cksum)

# A file cgtpgen-NAME.command holds what its dependents were made by, and is rewritten only when that changes.
# $(call CGTPGEN_DIFFERS,text,text): not empty where they do.
CGTPGEN_DIFFERS = $(subst x$(strip $(1))x,,x$(strip $(2))x)$(subst x$(strip $(2))x,,x$(strip $(1))x)
CGTPGEN_COMMAND_generate := $(CGTPGEN_GENERATE) \# $(CGTPGEN_SUM)
CGTPGEN_COMMAND_archive := $(AR) rcs $(CGTPGEN_LIBRARY) $(CGTPGEN_OBJECTS)
CGTPGEN_COMMAND_cc := $(CGTPGEN_CC) \# $(CGTPGEN_RUNTIME_SUM)
CGTPGEN_COMMAND_nvcc := $(CGTPGEN_NVCC) \# $(CGTPGEN_RUNTIME_SUM)
CGTPGEN_FIND_NVCC = command -v $(firstword $(NVCC)) > /dev/null || { echo "cgtpgen.mk: there is no program \
    '$(firstword $(NVCC))', which compiles products in CUDA: set NVCC to where it is, or CGTPGEN_BACKEND to c" >&2; exit 1; }
CGTPGEN_COMMANDS := generate archive cc $(if $(CGTPGEN_CUDA),nvcc)
CGTPGEN_CHANGED := $(foreach name,$(CGTPGEN_COMMANDS),$(if $(call \
    CGTPGEN_DIFFERS,$(CGTPGEN_COMMAND_$(name)),$(shell cat $(CGTPGEN_DIR)/cgtpgen-$(name).command 2> /dev/null)),$(name)))
$(CGTPGEN_CHANGED:%=$(CGTPGEN_DIR)/cgtpgen-%.command): CGTPGEN_FORCE
$(CGTPGEN_COMMANDS:%=$(CGTPGEN_DIR)/cgtpgen-%.command):
	@mkdir -p $(@D)
	@$(if $(filter %-nvcc.command,$@),$(CGTPGEN_FIND_NVCC))
	@printf '%s\n' '$(subst ','\'',$(CGTPGEN_COMMAND_$(patsubst cgtpgen-%.command,%,$(@F))))' > $@
.PHONY: CGTPGEN_FORCE

# Files that did not change keep their times, so what is compiled from them is not compiled again.
CGTPGEN_MISSING := $(if $(CGTPGEN_FILES),$(filter-out $(wildcard $(CGTPGEN_FILES)),$(CGTPGEN_FILES)),all)
$(CGTPGEN_LIST): $(CGTPGEN_SPECS) $(CGTPGEN_DIR)/cgtpgen-generate.command $(if $(CGTPGEN_MISSING),CGTPGEN_FORCE)
	$(CGTPGEN_GENERATE) --prune
	@for object in $(filter $(wildcard $(CGTPGEN_DIR)/*.o),$(CGTPGEN_OBJECTS)); do \
	    source=$${object%.o}; [ -e "$$source" ] || [ -e "$(CGTPGEN_DATA)/$${source##*/}" ] || rm -f "$$object" "$$source.d"; \
	done
	@files=$$($(CGTPGEN_GENERATE) --list) && echo CGTPGEN_FILES := $$files > $@
endif

# All are there by now; no implicit rule is to be looked for.
$(CGTPGEN_FILES): ;
$(filter %.c.o,$(CGTPGEN_OBJECTS)): $(CGTPGEN_DIR)/cgtpgen-cc.command
$(filter %.cu.o,$(CGTPGEN_OBJECTS)): $(CGTPGEN_DIR)/cgtpgen-nvcc.command
$(CGTPGEN_DIR)/%.c.o: $(CGTPGEN_DIR)/%.c
	$(CGTPGEN_CC) -o $@ $<
$(CGTPGEN_DIR)/%.cu.o: $(CGTPGEN_DIR)/%.cu
	$(CGTPGEN_NVCC) -o $@ $<
$(CGTPGEN_DIR)/%.c.o: $(CGTPGEN_DATA)/%.c
	$(CGTPGEN_CC) -o $@ $<
$(CGTPGEN_DIR)/%.cu.o: $(CGTPGEN_DATA)/%.cu
	$(CGTPGEN_NVCC) -o $@ $<

$(CGTPGEN_LIBRARY): $(CGTPGEN_OBJECTS) $(CGTPGEN_DIR)/cgtpgen-archive.command
	rm -f -- $@
	$(AR) rcs $@ $(CGTPGEN_OBJECTS)

.PHONY: cgtpgen-clean
cgtpgen-clean:
	rm -f -- $(CGTPGEN_CLEAN)
	@rmdir -- $(CGTPGEN_DIR) 2> /dev/null || true

-include $(CGTPGEN_OBJECTS:.o=.d)
.DEFAULT_GOAL := $(CGTPGEN_GOAL)
