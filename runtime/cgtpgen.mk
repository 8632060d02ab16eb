# cgtpgen.mk - for GNU Make: generates products and compiles them, with the runtime, for linking.
#
#     CGTPGEN_SPECS = specs/mace_large.yaml
#     include $(shell pkg-config --variable=makefile cgtpgen)
#
#     program: program.o $(CGTPGEN_LIBRARY)
#     	$(CGTPGEN_LINK) -o $@ $^
#     program.o: program.c $(CGTPGEN_HEADERS)
#     	$(CC) $(CFLAGS) $(CGTPGEN_CFLAGS) -c -o $@ $<
#
# CGTPGEN_OBJECTS  all objects: products, cgtp.c and, on GPUs, cgtp_graph.cu
# CGTPGEN_LIBRARY  the same as an archive, from which a program takes what it uses
# CGTPGEN_LINK     links them: $(NVCC), which knows CUDA's libraries, or $(CC)
# CGTPGEN_HEADERS  the generated headers
# CGTPGEN_CFLAGS   where these and the runtime's are; for nvcc too
#
# CC, CFLAGS and AR are make's. Set before the include where the defaults do not fit:
#
# CGTPGEN_BACKEND  cuda or c
# CGTPGEN_ARCH     cuda: what to plan and compile for (sm_90)
# NVCC, NVCCFLAGS  cuda: the compiler and its options (nvcc, -std=c++17 -O3); -gencode=.. adds architectures
# CGTPGEN          the generator
# CGTPGEN_OPTIONS  more options of it
# CGTPGEN_DIR      where everything goes (cgtpgen-out)

CGTPGEN ?= cgtpgen
CGTPGEN_BACKEND ?= cuda
CGTPGEN_ARCH ?= sm_90
CGTPGEN_DIR ?= cgtpgen-out
NVCC ?= nvcc
NVCCFLAGS ?= -std=c++17 -O3

CGTPGEN_GOAL := $(.DEFAULT_GOAL)
CGTPGEN_DATA := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
CGTPGEN_CUDA := $(filter cuda,$(CGTPGEN_BACKEND))
CGTPGEN_CFLAGS := -I$(CGTPGEN_DIR) -I$(CGTPGEN_DATA)
CGTPGEN_GENERATE = $(CGTPGEN) --backend=$(CGTPGEN_BACKEND) $(if $(CGTPGEN_CUDA),--arch=$(CGTPGEN_ARCH)) \
    $(CGTPGEN_OPTIONS) -o $(CGTPGEN_DIR) $(CGTPGEN_SPECS)
CGTPGEN_CC = $(CC) $(CPPFLAGS) $(CFLAGS) $(CGTPGEN_CFLAGS) -MMD -MP -c
CGTPGEN_NVCC = $(NVCC) -arch=$(CGTPGEN_ARCH) $(NVCCFLAGS) $(CGTPGEN_CFLAGS) -MMD -MP -c
CGTPGEN_LINK = $(if $(CGTPGEN_CUDA),$(NVCC) -arch=$(CGTPGEN_ARCH),$(CC))

CGTPGEN_FILES := $(shell $(CGTPGEN_GENERATE) --list)
CGTPGEN_HEADERS := $(filter %.h,$(CGTPGEN_FILES))
CGTPGEN_OBJECTS := $(addsuffix .o,$(filter %.c %.cu,$(CGTPGEN_FILES)) \
    $(addprefix $(CGTPGEN_DIR)/,cgtp.c $(if $(CGTPGEN_CUDA),cgtp_graph.cu)))
CGTPGEN_LIBRARY := $(CGTPGEN_DIR)/libcgtpgen.a

# Rewritten only when they change, so that what was made by others is made again then.
CGTPGEN_COMMANDS = '$(subst ','\'',$(CGTPGEN_GENERATE); $(CGTPGEN_CC); $(if $(CGTPGEN_CUDA),$(CGTPGEN_NVCC)))'
$(CGTPGEN_DIR)/commands: CGTPGEN_FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(CGTPGEN_COMMANDS) | cmp -s - $@ || printf '%s\n' $(CGTPGEN_COMMANDS) > $@
.PHONY: CGTPGEN_FORCE

$(CGTPGEN_DIR)/stamp: $(CGTPGEN_SPECS) $(CGTPGEN_DIR)/commands
	$(CGTPGEN_GENERATE)
	touch $@

# Files that did not change keep their times, so what is compiled from them is not compiled again.
$(CGTPGEN_FILES): $(CGTPGEN_DIR)/stamp ;

$(CGTPGEN_OBJECTS): $(CGTPGEN_DIR)/commands | $(CGTPGEN_DIR)/stamp
$(CGTPGEN_DIR)/%.c.o: $(CGTPGEN_DIR)/%.c
	$(CGTPGEN_CC) -o $@ $<
$(CGTPGEN_DIR)/%.cu.o: $(CGTPGEN_DIR)/%.cu
	$(CGTPGEN_NVCC) -o $@ $<
$(CGTPGEN_DIR)/%.c.o: $(CGTPGEN_DATA)/%.c
	$(CGTPGEN_CC) -o $@ $<
$(CGTPGEN_DIR)/%.cu.o: $(CGTPGEN_DATA)/%.cu
	$(CGTPGEN_NVCC) -o $@ $<

$(CGTPGEN_LIBRARY): $(CGTPGEN_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

-include $(CGTPGEN_OBJECTS:.o=.d)
.DEFAULT_GOAL := $(CGTPGEN_GOAL)
