/* Stands in for libcuda: records what a launcher in C asks of it. */
#include "cuda.h"
#include <stdint.h>
#include <string.h>

/* How many bytes each parameter has, which the driver knows of the kernel: the test says it, 0 at the end. */
uint8_t fake_bytes[17];
uint64_t fake_slots[16], fake_launches, fake_stream;
uint32_t fake_sizes[7], fake_attributes[8][4], fake_attribute_count;
int fake_loaded, fake_shared, fake_result;
char fake_name[128];
const void *fake_image;

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    fake_image = image;
    *module = (CUmodule)(uintptr_t)(0x2000 + ++fake_loaded);
    return fake_result;
}

CUresult cuModuleUnload(CUmodule module)
{
    fake_loaded--;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    strncpy(fake_name, name, sizeof fake_name - 1);
    *function = (CUfunction)(uintptr_t)0x3000;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    fake_shared = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? value : -1;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    fake_launches++;
    memcpy(fake_sizes, config, sizeof fake_sizes);
    fake_stream = (uint64_t)(uintptr_t)config->hStream;
    fake_attribute_count = config->numAttrs;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        fake_attributes[i][0] = (uint32_t)config->attrs[i].id;
        memcpy(&fake_attributes[i][1], config->attrs[i].value, 12);
    }
    memset(fake_slots, 0, sizeof fake_slots);
    for (int i = 0; fake_bytes[i]; i++)
        memcpy(&fake_slots[i], parameters[i], fake_bytes[i]);
    return fake_result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream, void **parameters, void **extra)
{
    CUlaunchConfig config = {x, y, z, block_x, block_y, block_z, shared, stream, 0, 0};
    return cuLaunchKernelEx(&config, function, parameters, extra);
}
