# Fuzzing (fuzz.c), which needs clang with its runtime libraries.
#
# make fuzz             RUNS inputs through the reader, then as many through everything; FUZZ=reader, FUZZ=all: one of
#                       the two. What they find that is new joins $(FUZZ_DIR)/corpus, from which the next call
#                       goes on. An input that fails is kept in $(FUZZ_DIR)/found, and `$(FUZZ_DIR)/all FILE`
#                       runs it once more. Once it is mended, a short form of it goes to tests/regress/fuzz.

FUZZ := reader all
RUNS := 100000
FUZZ_DIR := $(BUILD)/fuzz
FUZZ_CC := clang
FUZZ_CFLAGS := -O2
# The rest: all but the sixth of the code in which two thirds of the time are spent.
FUZZ_CFLAGS_REST = $(FUZZ_CFLAGS)
FUZZ_OFTEN := util/% algebra/% plan/% schedule/layout
FUZZ_COMPILE = $(FUZZ_CC) $(STANDARD) -Icgtpgen $(if $(filter $(FUZZ_OFTEN),$(1)),$(FUZZ_CFLAGS),$(FUZZ_CFLAGS_REST)) \
    -gline-tables-only -fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize-coverage=trace-cmp \
    -MMD -MP -MF $@.d -MT $@
FUZZ_OBJECTS = $(patsubst cgtpgen/%.c,$(FUZZ_DIR)/obj/%.o,$(filter $(1),$(SOURCES)))

# What they begin with: specs, right and wrong; right ones where they are to be emitted. Cut to a few hundred bytes:
# many small inputs find more than few large ones. tests/fuzz/corpus has what reaches code that those do not, as
# `build/fuzz/all -merge=1 -use_counters=0` picked it from what long runs found; and of those the 40 beginnings that
# reach what the rest of it does not. So for everything it is enough (FUZZ_QUICK=1), in half of the time.
FUZZ_RIGHT := $(wildcard specs/*.yaml tests/golden/*.yaml tests/simt/specs/*.yaml tests/regress/*.yaml)
FUZZ_REACHING := $(wildcard tests/regress/fuzz/* tests/fuzz/corpus/*)
FUZZ_SEEDS_all := $(if $(FUZZ_QUICK),,$(FUZZ_RIGHT)) $(FUZZ_REACHING)
FUZZ_SEEDS_reader := $(FUZZ_RIGHT) $(FUZZ_REACHING) $(wildcard tests/bad/*.yaml)
FUZZ_OPTIONS_reader := -max_len=400
FUZZ_OPTIONS_all := -max_len=512 -mutate_depth=2 $(if $(FUZZ_SEED),-entropic=0,-entropic_scale_per_exec_time=1)
FUZZ_OPTIONS := -rss_limit_mb=1024 -timeout=100 $(FUZZ_SEED:%=-seed=%) -print_final_stats=1 -dict=$(FUZZ_DIR)/words

$(FUZZ_DIR)/obj/%.o: cgtpgen/%.c
	@mkdir -p $(@D)
	$(Q)$(call FUZZ_COMPILE,$*) -fsanitize=fuzzer-no-link -c -o $@ $<
$(FUZZ_DIR)/reader: tests/fuzz/fuzz.c \
    $(call FUZZ_OBJECTS,$(foreach layer,util algebra spec problem form,cgtpgen/$(layer)/%))
	$(Q)$(FUZZ_COMPILE) -fsanitize=fuzzer -o $@ $(filter %.c %.o,$^) -lyaml -pthread
$(FUZZ_DIR)/all: tests/fuzz/fuzz.c tests/fuzz/mutate.c \
    $(filter-out $(FUZZ_DIR)/obj/cli/%,$(call FUZZ_OBJECTS,%)) $(FUZZ_DIR)/obj/cli/print.o $(BUILD)/obj/runtime_texts.o
	$(Q)$(FUZZ_COMPILE) -DEMIT -fsanitize=fuzzer -o $@ $(filter %.c %.o,$^) -lyaml -pthread
-include $(wildcard $(FUZZ_DIR)/*.d $(FUZZ_DIR)/obj/*/*.d $(FUZZ_DIR)/obj/*/*/*.d)

$(FUZZ_DIR)/words: tests/fuzz/words.py docs/spec.schema.json
	@mkdir -p $(@D)
	$(Q)$(call quoted,$(PYTHON)) $< > $@

.PHONY: fuzz fuzz-programs
fuzz-programs: $(FUZZ:%=$(FUZZ_DIR)/%) $(FUZZ_DIR)/words
fuzz: fuzz-programs
	$(Q)rm -rf $(FUZZ_DIR)/seeds
	$(Q)mkdir -p $(FUZZ_DIR)/found $(foreach f,$(FUZZ),$(FUZZ_DIR)/seeds/$(f) $(FUZZ_DIR)/corpus/$(f))
	$(Q)$(foreach f,$(FUZZ),$(call quoted,$(PYTHON)) tests/fuzz/link.py $(FUZZ_DIR)/seeds/$(f) $(FUZZ_SEEDS_$(f)) &&) true
	$(Q)$(foreach f,$(FUZZ),$(FUZZ_DIR)/$(f) $(FUZZ_OPTIONS) $(FUZZ_OPTIONS_$(f)) -runs=$(RUNS) \
	    -artifact_prefix=$(FUZZ_DIR)/found/$(f)- $(FUZZ_DIR)/corpus/$(f) $(FUZZ_DIR)/seeds/$(f) &&) true
