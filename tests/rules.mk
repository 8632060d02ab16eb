# What the tests need besides units and scripts: the dense reference, drivers, generated products.

CHECKS := check_main check check_golden check_sizes check_paths check_calls check_laws driver memory_host
REFERENCE := $(patsubst %,$(BUILD)/obj/tests/%.o,reference reference_kernels reference_wigner golden_case)

$(BUILD)/obj/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -Iruntime -Itests -c -o $@ $<

$(BUILD)/tests/unit_reference: $(REFERENCE)

# Objects that the scripts link with generated products (tests/products.mk).
TEST_NEEDS += $(REFERENCE) $(CHECKS:%=$(BUILD)/obj/tests/%.o) $(BUILD)/obj/runtime/cgtp.o

-include $(wildcard $(BUILD)/obj/tests/*.d)
