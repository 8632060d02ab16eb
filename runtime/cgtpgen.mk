# cgtpgen.mk - for GNU Make: generates products and compiles them, with the runtime, into one archive.
#
#     CGTPGEN_SPECS = specs/mace_large.yaml
#     include $(shell pkg-config --variable=makefile cgtpgen)
#
# Link $(CGTPGEN_LIBRARY) and compile what includes the generated headers with $(CGTPGEN_CFLAGS), after that
# library is built. CC, CFLAGS and AR are make's. Set before the include if the defaults do not fit: CGTPGEN (the
# generator), CGTPGEN_DIR (where everything goes), CGTPGEN_OPTIONS.

CGTPGEN ?= cgtpgen
CGTPGEN_DIR ?= cgtpgen-out
CGTPGEN_DATA := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
CGTPGEN_CFLAGS := -I$(CGTPGEN_DIR) -I$(CGTPGEN_DATA)
CGTPGEN_LIBRARY := $(CGTPGEN_DIR)/libcgtpgen.a
CGTPGEN_GOAL := $(.DEFAULT_GOAL)
CGTPGEN_FILES := $(shell $(CGTPGEN) --backend=c $(CGTPGEN_OPTIONS) --list -o $(CGTPGEN_DIR) $(CGTPGEN_SPECS))
CGTPGEN_OBJECTS := $(patsubst %.c,%.o,$(filter %.c,$(CGTPGEN_FILES))) $(CGTPGEN_DIR)/cgtp.o

$(CGTPGEN_DIR)/stamp: $(CGTPGEN_SPECS)
	$(CGTPGEN) --backend=c $(CGTPGEN_OPTIONS) -o $(CGTPGEN_DIR) $(CGTPGEN_SPECS)
	touch $@

# Files that did not change keep their times, so what is compiled from them is not compiled again.
$(CGTPGEN_FILES): $(CGTPGEN_DIR)/stamp ;

$(CGTPGEN_DIR)/%.o: $(CGTPGEN_DIR)/%.c $(filter %.h,$(CGTPGEN_FILES))
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CGTPGEN_CFLAGS) -c -o $@ $<

$(CGTPGEN_DIR)/cgtp.o: $(CGTPGEN_DATA)/cgtp.c $(CGTPGEN_DATA)/cgtp.h | $(CGTPGEN_DIR)/stamp
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CGTPGEN_CFLAGS) -c -o $@ $<

$(CGTPGEN_LIBRARY): $(CGTPGEN_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

.DEFAULT_GOAL := $(CGTPGEN_GOAL)
