"""Which modules of naiad answer for each module of Triton, and why some of Triton's have no answer."""

# Triton's module -> naiad's modules in which its names are looked up, in order.
FACADES: dict[str, tuple[str, ...]] = {
    "triton": ("naiad.compat.top", "naiad"),
    "triton.errors": ("naiad.errors",),
    "triton._utils": ("naiad.compat.helpers", "naiad.backends.signature"),
    "triton._internal_testing": ("naiad.compat.internal_testing",),
    "triton._C": (),
    "triton._C.libtriton": ("naiad.compat.libtriton",),
    "triton._C.libtriton.ir": ("naiad.compat.mlir",),
    "triton._C.libtriton.linear_layout": ("naiad.compat.linear_layout",),
    "triton.testing": ("naiad.testing",),
    "triton.compiler": ("naiad.compiler", "naiad.compiler.compiler", "naiad.errors"),
    "triton.compiler.compiler": ("naiad.compiler.compiler", "naiad.runtime.cache",
                                 "naiad.compat.libtriton", "naiad.errors", "naiad.backends.base"),
    "triton.compiler.errors": ("naiad.errors",),
    "triton.compiler.code_generator": ("naiad.compiler.code_generator", "naiad.errors", "naiad.compat.helpers",
                                       "naiad.runtime.constexpr_function", "naiad.runtime.jit"),
    "triton.backends": ("naiad.backends",),
    "triton.backends.compiler": ("naiad.backends.base",),
    "triton.backends.driver": ("naiad.backends.driver", "naiad.compat.descriptors"),
    "triton.backends.cpu": ("naiad.backends.cpu",),
    "triton.backends.cpu.compiler": ("naiad.backends.cpu.compiler",),
    "triton.backends.cpu.driver": ("naiad.backends.cpu.device",),
    "triton.backends.nvidia": (),
    "triton.backends.nvidia.compiler": ("naiad.compat.nvidia",),
    "triton.backends.nvidia.driver": ("naiad.compat.nvidia",),
    "triton.backends.amd": (),
    "triton.backends.amd.compiler": ("naiad.compat.amd",),
    "triton.backends.amd.driver": ("naiad.compat.amd",),
    "triton.language.extra.cuda.gdc": ("naiad.language.extra.cuda",),
    "triton.language.extra.cuda.utils": ("naiad.language.extra.cuda",),
    "triton.language.extra.hip.utils": ("naiad.language.extra.hip",),
    "triton.runtime": ("naiad.runtime",),
    "triton.runtime.jit": ("naiad.runtime.jit", "naiad.runtime.constexpr_function", "naiad.runtime.preload",
                           "naiad.compat.libtriton", "naiad.compat.helpers", "naiad.runtime.dependencies",
                           "naiad.compat.keys", "naiad.backends.base", "naiad.backends.driver"),
    "triton.runtime.autotuner": ("naiad.runtime.autotuner", "naiad.errors", "naiad.runtime.cache",
                                 "naiad.compat.libtriton", "naiad.runtime.jit"),
    "triton.runtime.build": ("naiad.compat.build",),
    "triton.runtime.cache": ("naiad.runtime.cache",),
    "triton.runtime.driver": ("naiad.backends.driver",),
    "triton.runtime.errors": ("naiad.errors",),
    "triton.runtime.interpreter": ("naiad.runtime.interpreter", "naiad.errors"),
    "triton.runtime._allocation": ("naiad.runtime.allocation",),
    "triton.runtime._async_compile": ("naiad.runtime.async_compile",),
    "triton.tools": ("naiad.compat.linear_layout", "naiad.tools"),
    "triton.tools.compile": ("naiad.tools.compile",),
    "triton.tools.disasm": ("naiad.tools.disasm",),
    "triton.tools.link": ("naiad.tools.link",),
    "triton.tools.mxfp": ("naiad.tools.mxfp",),
    "triton.tools.ragged_tma": ("naiad.tools.ragged_tma",),
    "triton.tools.tensor_descriptor": ("naiad.tools.tensor_descriptor",),
}  # fmt: skip

# Triton's module is naiad's own: names that are set in one are set in the other, and everything below it follows.
ALIASES = {"triton.knobs": "naiad.knobs", "triton.language": "naiad.language"}

# Names of a module that are not what its list says: (module, name) to what it is; "" means a whole module.
OBJECTS = {("triton.runtime", "driver"): ("naiad.backends.driver", "driver"),
           ("triton", "compile"): ("naiad.compiler.compiler", "compile"),
           # what packages patch or read through Triton's own imports
           ("triton.runtime.autotuner", "builtins"): ("builtins", ""),
           ("triton.runtime.autotuner", "hashlib"): ("hashlib", ""),
           ("triton.runtime.autotuner", "json"): ("json", ""),
           ("triton.runtime.autotuner", "time"): ("time", ""),
           ("triton.runtime.autotuner", "knobs"): ("naiad.knobs", ""),
           ("triton.runtime.jit", "knobs"): ("naiad.knobs", ""),
           ("triton.runtime.cache", "knobs"): ("naiad.knobs", ""),
           ("triton.compiler.compiler", "knobs"): ("naiad.knobs", ""),
           ("triton.runtime.jit", "driver"): ("naiad.backends.driver", "driver"),
           ("triton.runtime.autotuner", "driver"): ("naiad.backends.driver", "driver"),
           ("triton.compiler.compiler", "driver"): ("naiad.backends.driver", "driver")}  # fmt: skip

# Modules of Triton, of its forks and of its past that have no answer: the start of the name, and why.
ABSENT = {
    "triton.experimental": "naiad compiles the language of triton.language; Gluon and other experiments are not there",
    "triton.profiler": "Proton is not there; triton.testing.do_bench times kernels, and perf or nsys profile them",
    "triton.ops": "these kernels left Triton before version 3.0",
    "triton.common": "it left Triton with version 3.1; triton.runtime.build takes its place",
    "triton.tools.experimental_descriptor": "it left Triton with version 3.4 for triton.tools.tensor_descriptor",
    "triton.tools.build_extern": "it writes the tables of device libraries, which triton.language.extra.libdevice has",
    "triton._C": "naiad is Python: of the native module it has what code outside of Triton calls",
    "triton.fb": "it is internal to a company",
    "triton._filecheck": "it is for the tests of Triton itself",
    "triton.language.extra": "naiad has the functions of cuda, hip and cpu, and libdevice",
    "triton.backends": "naiad has the backends cpu and nvidia; amd can be imported and compiles nothing",
}

# Packages whose files are run by their path (`__path__[0]/compile.py`), and where these are.
SCRIPTS = {"triton.tools": "naiad.tools"}


def alias_of(name: str) -> str | None:
    """The module of naiad that the module `name` of Triton is; None where it is none."""
    if name in FACADES or (name.rpartition(".")[0] in FACADES and name not in ALIASES):
        return None
    for theirs, ours in ALIASES.items():
        if name == theirs or name.startswith(f"{theirs}."):
            return ours + name[len(theirs) :]
    return None


def is_package(name: str) -> bool:
    """Whether there are modules below this one."""
    return name in ("triton", "triton.language") or any(other.startswith(f"{name}.") for other in FACADES)


def reason(name: str) -> str:
    """Why there is no module `name`."""
    known = [why for start, why in ABSENT.items() if name == start or name.startswith(f"{start}.")]
    return known[-1] if known else "naiad, which answers for triton, has no such module"
