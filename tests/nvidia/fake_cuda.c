/* Stands in for libcuda where there is no GPU: answers what loading a kernel asks, and records what a launch gives. */
#include <stdint.h>
#include <string.h>

struct config { unsigned grid[3], block[3], shared; void *stream; const char *attributes; unsigned count; };

/* The last launch, and the state of the driver; the test reads and writes these. */
uint64_t fake_launches, fake_slots[32], fake_parameters, fake_function, fake_stream, fake_loads, fake_current;
uint32_t fake_config[7], fake_attribute_ids[8], fake_attributes, fake_attribute_words[8][3];
int fake_result;

static __thread int has_context = -1;

int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(uintptr_t)(0x1000 + device); return 0; }
int cuCtxGetCurrent(void **context) { *context = (void *)(has_context == 0 ? 0 : fake_current); return 0; }
int cuCtxSetCurrent(void *context) { fake_current = (uint64_t)context; has_context = 1; return 0; }
void fake_lose_context(void) { has_context = 0; }
int cuDeviceGetAttribute(int *value, int which, int device)
{
    *value = which == 75 ? 9 : which == 76 ? 0 : which == 97 ? 232448 : which == 12 ? 65536 : which == 1 ? 1024 : 1;
    return 0;
}
int cuModuleLoadData(void **module, const void *code) { *module = (void *)0x2000; fake_loads++; return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = (void *)(0x3000 + fake_loads);
    return 0;
}
int cuModuleUnload(void *module) { return 0; }
int cuFuncGetAttribute(int *value, int which, void *function) { *value = which == 0 ? 1024 : 0; return 0; }
int cuFuncSetAttribute(void *function, int which, int value) { return 0; }
int cuGetErrorString(int code, const char **text)
{
    *text = code == 700 ? "an illegal memory access was encountered" : "unknown";
    return 0;
}
int cuLaunchKernelEx(const struct config *config, void *function, void **parameters, void **extra)
{
    if (has_context == 0)
        return 201;
    fake_launches++;
    memcpy(fake_config, config, sizeof fake_config);
    fake_stream = (uint64_t)config->stream;
    fake_function = (uint64_t)function;
    fake_attributes = config->count;
    for (unsigned i = 0; i < config->count; i++) {
        memcpy(&fake_attribute_ids[i], config->attributes + 72 * i, 4);
        memcpy(fake_attribute_words[i], config->attributes + 72 * i + 8, 12);
    }
    for (uint64_t i = 0; i < fake_parameters; i++)
        memcpy(&fake_slots[i], parameters[i], 8);
    return fake_result;
}

/* A tensor of the CPU that says it is on GPU `fake_index`: torch's C interface for the launcher. */
int fake_index, fake_type = 1;
int fake_device_type(void *tensor, int *answer) { *answer = fake_type; return 0; }
int fake_device_index(void *tensor, int *answer) { *answer = fake_index; return 0; }
