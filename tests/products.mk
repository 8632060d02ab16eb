# Builds a program that checks generated products: the driver in check_*.c linked with everything
# generated from SPECS.
#
#     make -f tests/products.mk DIR=build/golden SPECS='a.yaml b.yaml' [FLAGS=-O0]
#
# DIR/check is the program. Specs go through $FILTER, a shell command in the environment, into DIR/specs
# first. Files that did not change are not compiled again. CGTPGEN, CC, BUILD as in the Makefile; FLAGS
# for what is generated, in which warnings are errors (WERROR= lets them pass).

MAKEFLAGS += -rR --no-print-directory
.DELETE_ON_ERROR:
.SUFFIXES:
BUILD ?= build
CGTPGEN ?= $(BUILD)/cgtpgen
CC ?= gcc
FLAGS ?= -O1
WERROR ?= -Werror
STANDARD := -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic $(WERROR)
COMPILE = $(CC) $(STANDARD) $(FLAGS) -Iruntime -I$(DIR)
# What tcc has compiled clang reads, for its warnings, and gcc links, which is to be told that no code is on the stack.
LINKER := $(CC:tcc=gcc -z noexecstack)

LOCAL := $(addprefix $(DIR)/specs/,$(notdir $(SPECS)))
CHECKS := check_main check check_golden check_sizes check_paths check_calls check_laws driver memory_host \
    reference reference_kernels reference_wigner golden_case
LINKED := $(CHECKS:%=$(BUILD)/obj/tests/%.o) $(BUILD)/obj/runtime/cgtp.o

ifndef SECOND
# First: generate. What there is to compile is known only then.
$(DIR)/check: FORCE $(LOCAL)
	@$(CGTPGEN) --backend=c -Wno-all -o $(DIR) $(LOCAL)
	@$(MAKE) -f tests/products.mk SECOND=1 $@
$(DIR)/specs/%: $(dir $(firstword $(SPECS)))% FORCE
	@mkdir -p $(@D)
	@eval "$${FILTER:-cat}" < $< > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
else
SOURCES := $(shell $(CGTPGEN) --backend=c -Wno-all --list -o $(DIR) $(LOCAL) | grep '\.c$$')
SYMBOLS := $(shell sed -n 's/^name: *//p' $(LOCAL))
$(DIR)/check: $(DIR)/compiled $(LINKED)
	@$(LINKER) $(FLAGS) $(LDFLAGS) -o $@ $(SOURCES:.c=.o) $(DIR)/products.o $(LINKED) -lm

# All that changed since the last time, at once.
CHANGED = $(filter %.c,$(if $(filter-out %.c,$?),$^,$?))
$(DIR)/compiled: $(SOURCES) $(DIR)/products.c $(DIR)/flags runtime/cgtp.h runtime/cgtp_c.h runtime/cgtp_call.h runtime/cgtp_types.h \
    tests/products.mk tests/compile.sh tests/warnings.sh
	@tests/compile.sh $(COMPILE) -- $(CHANGED)
	@$(if $(filter tcc,$(CC)),tests/warnings.sh $(DIR) $(STANDARD) -- $(CHANGED))
	@touch $@
endif

$(DIR)/products.c: $(LOCAL) $(DIR)/list
	@{ echo '#include "cgtp.h"'; for n in $(SYMBOLS); do echo "extern const cgtp_product $${n}_product;"; done; \
	  echo 'extern const cgtp_product *const check_products[];'; \
	  echo 'const cgtp_product *const check_products[] = {'; \
	  for n in $(SYMBOLS); do echo "    &$${n}_product,"; done; echo '    0};'; } > $@

# Rewritten only when the compiler or its flags, or the list of specs, change.
$(DIR)/flags: FORCE
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@
$(DIR)/list: FORCE
	@echo '$(LOCAL)' | cmp -s - $@ || echo '$(LOCAL)' > $@

.PHONY: FORCE
export DIR SPECS FLAGS BUILD CGTPGEN CC
