# What the tests need besides units and scripts: the dense reference, drivers, generated products.

CHECKS := check_main check check_golden check_sizes check_paths check_calls check_laws driver memory_host
REFERENCE := $(patsubst %,$(BUILD)/obj/tests/%.o,reference reference_kernels reference_wigner golden_case)

$(BUILD)/obj/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -Iruntime -Itests -c -o $@ $<

$(BUILD)/tests/unit_reference: $(REFERENCE)

# Objects that the scripts link with generated products (tests/products.mk).
TEST_NEEDS += $(REFERENCE) $(CHECKS:%=$(BUILD)/obj/tests/%.o) $(RUNTIME_OBJECTS)

-include $(wildcard $(BUILD)/obj/tests/*.d)

# Random products in numbers that no other test has time for: COUNT from number FIRST on, of each PIECE of them SIMT also
# on the shim.
COUNT := 100
FIRST := 0
PIECE := 20
SIMT := 2
.PHONY: random-test ptxas-table
# Registers, spills and predicted times of the benchmark's kernels for every architecture: tests/ptxas_table.py says how.
ptxas-table: $(BUILD)/cgtpgen
	$(Q)CGTPGEN='$(BUILD)/cgtpgen' BUILD='$(BUILD)' $(call quoted,$(PYTHON)) tests/ptxas_table.py
random-test: $(BUILD)/cgtpgen $(TEST_NEEDS)
	$(Q)CGTPGEN='$(BUILD)/cgtpgen' BUILD='$(BUILD)' CC=$(call quoted,$(CC)) PYTHON=$(call quoted,$(PYTHON)) \
	    COUNT=$(COUNT) FIRST=$(FIRST) PIECE=$(PIECE) SIMT=$(SIMT) tests/random_many.sh

# Which lines and branches of the generator run in the tests that look at it alone, and in what the other tests generate,
# which is not compiled here. tests/coverage.py counts; $(COVERAGE)/missed says what did not run.
COVERAGE := build/coverage
COVERAGE_TESTS := $(notdir $(UNITS)) bad cli color completion diagnostics examples faults generated limits mutation \
    schema docs refusals plans report specs tune
COVERAGE_RANDOM := 400
.PHONY: coverage
coverage:
	$(Q)rm -rf $(COVERAGE)
	$(Q)$(MAKE) BUILD=$(COVERAGE) CFLAGS=-O0 INSTRUMENT=--coverage TEST_ALL= T='$(COVERAGE_TESTS)' test
	$(Q)$(call quoted,$(PYTHON)) tests/random_spec.py write $(COVERAGE)/random 0 $(COVERAGE_RANDOM)
	$(Q)$(call quoted,$(PYTHON)) tests/coverage_specs.py $(COVERAGE)/changed
	$(Q)for s in specs/*.yaml tests/golden/*.yaml tests/simt/specs/*.yaml tests/regress/*.yaml $(COVERAGE)/random/*.yaml \
	    tests/fuzz/corpus/*; do \
	    for backend in c 'cuda --arch=sm_80' cuda; do \
	        $(COVERAGE)/cgtpgen --backend=$$backend --emit=header,hpp,source,selftest,torch,jax,report -Wno-all -dspflec \
	            --print=paths,nnz,weights,plan,cost,json -o $(COVERAGE)/generated "$$s" > /dev/null 2>&1 || [ $$? = 1 ] || \
	            exit 1; \
	    done; done
	$(Q)for s in tests/simt/specs/*.yaml; do \
	    $(COVERAGE)/cgtpgen --backend=cuda --emit=tune -Wno-all -o $(COVERAGE)/tuned "$$s" > /dev/null || exit 1; \
	done
	$(Q)for s in $(COVERAGE)/changed/*.yaml; do \
	    $(COVERAGE)/cgtpgen --backend=cuda --emit=source,report -Wno-all -o $(COVERAGE)/generated "$$s" > /dev/null 2>&1 || \
	        [ $$? = 1 ] || exit 1; \
	done
	$(Q)mutate='$(COVERAGE)/cgtpgen --backend=c -o $(COVERAGE)/mutants tests/mutation/*.yaml'; \
	for n in $$($$mutate --mutate=0 | awk 'NR % 60 == 0 {print $$1}'); do \
	    $$mutate --mutate=$$n > /dev/null || exit 1; \
	done
	$(Q)$(call quoted,$(PYTHON)) tests/coverage.py $(COVERAGE)/obj 99 97 $(COVERAGE)/missed
