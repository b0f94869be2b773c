"""What a backend is: a target's description, its options, and the stages from ttir to something that can run."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from naiad import knobs
from naiad.errors import CompilationError, Explanation, Place

Stage: TypeAlias = Callable[[Any, dict[str, Any]], Any]
"""One step: the IR (a module, or text) and the metadata to add to, to the next IR. Only the first stage may change the
module that it is given: the text of a stage is printed from its module when it is asked for, maybe much later."""


SOURCES = ("language/**", "layouts/**", "ir/**", "analysis/**", "passes/**", "lowering/**", "backends/**",
           "compiler/**", "rounding.py", "errors.py")  # fmt: skip
"""The parts of naiad that code may depend on: `x/**` is a folder with all below it, `x/` the files in it."""


class Language(Enum):
    """The front end that a source comes from."""

    TRITON = 0
    GLUON = 1


@dataclass(frozen=True)
class GPUTarget:
    """What code is made for: `backend` (cpu, cuda, hip), its name of the chip, and how many lanes a warp has."""

    backend: str
    arch: int | str
    warp_size: int


COUNTS = frozenset(("num_warps", "num_ctas", "num_stages", "maxnreg"))
"""Options that are whole numbers."""


@dataclass(frozen=True)
class Options:
    """The keywords of a launch that every backend takes, also those that change nothing on some."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    debug: bool = False
    sanitize_overflow: bool = False
    enable_fp_fusion: bool = True
    launch_cooperative_grid: bool = False
    max_num_imprecise_acc_default: int = 0
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4b15", "fp8e4nv", "fp8e5")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    extern_libs: tuple[tuple[str, str], ...] = ()
    ir_override: str | None = None
    arch: str | None = None
    backend_name: str = ""

    def __post_init__(self) -> None:
        if self.num_warps < 1 or self.num_warps & (self.num_warps - 1):
            raise AssertionError(f"num_warps must be a power of 2, got {self.num_warps}")
        if self.num_stages < 0:
            raise ValueError(f"num_stages must not be negative, got {self.num_stages}")

    def hash(self) -> str:
        return repr(self)

    @classmethod
    def known(cls, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Those of a launch's keywords that are options here, and what follows of them and of the settings."""
        names = {field.name for field in fields(cls)}
        given = {name: value for name, value in keywords.items() if name in names and value is not None}
        given.update({name: _whole(name, given[name]) for name in COUNTS & given.keys()})
        given.setdefault("enable_fp_fusion", knobs.language.default_fp_fusion)
        if isinstance(libs := given.get("extern_libs"), dict):
            given["extern_libs"] = tuple(libs.items())
        if given.get("debug"):
            given.setdefault("sanitize_overflow", True)
        return given


def _whole(name: str, value: Any) -> int:
    """The number that an option counts."""
    value = getattr(value, "value", value)  # of a constexpr
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} of a launch: expected an int, found {value!r}")
    return operator.index(value)


class BaseBackend(ABC):
    """The compiler of one target. `binary_ext` names the last stage; its result is bytes, which the driver loads."""

    binary_ext: ClassVar[str]
    first_stage: ClassVar[str] = "ttir"
    supports_native_tensor_specialization: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = SOURCES
    """The parts of naiad that this backend's code depends on: a cache entry is good until one of them changes."""
    idle_options: ClassVar[frozenset[str]] = frozenset()
    """Keywords of a launch that are taken and change nothing: tuning times what differs only in them once."""

    def __init__(self, target: GPUTarget) -> None:
        if not self.supports_target(target):
            raise ValueError(f"{type(self).__name__} does not compile for {target}")
        self.target = target

    @staticmethod
    @abstractmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether this backend compiles for `target`."""

    @staticmethod
    def arch_named(text: str) -> int | str | None:
        """The architecture that TRITON_OVERRIDE_ARCH means here; None where it is not one of this backend's."""
        return None

    @abstractmethod
    def hash(self) -> str:
        """Text that differs where the same source and options give other code: the chip's features, tools' versions."""

    @abstractmethod
    def parse_options(self, options: dict[str, Any]) -> Any:
        """Options, or a frozen dataclass with `hash()`, from the keywords of a launch; those unknown are ignored."""

    @abstractmethod
    def add_stages(self, stages: dict[str, Stage], options: Any, language: Language = Language.TRITON) -> None:
        """Puts the stages, in order, into `stages`: name (and file extension) to function."""

    def derive(self, name: str, asm: Mapping[str, Any], metadata: Any) -> str | bytes | None:
        """A text that no stage leaves, made of the others when it is asked for (`asm["sass"]`); None if unknown."""
        return None

    def parse(self, stage: str, data: bytes) -> Any:
        """What the stage `stage` would have left, from a file that a user wrote: code, text, or a module.

        Raises CompilationError where the text of a module is none.
        """
        if stage == self.binary_ext:
            return data
        if stage in ("llir", "asm", "ptx", "amdgcn"):
            return data.decode()
        from xdsl.utils.exceptions import ParseError

        from naiad.ir.text import parse

        try:
            return parse(data.decode())
        except ParseError as error:
            text, start = str(error.span.input.content), error.span.start
            place = Place(text, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start) - 1)
            advice = Explanation(advice="mend the text there; naiad-opt FILE reads it alone")
            raise CompilationError(f"this is no {stage}: {error.msg}", place, advice) from error

    def adopt(self, stage: str, code: Any, metadata: dict[str, Any]) -> None:  # noqa: B027
        """Learns from code that a user put in the place of a stage's, or that a stage made of that."""

    def pack_metadata(self, metadata: Any) -> Any:
        """What the launcher gets of the metadata: by default all of it."""
        return metadata

    def load_dialects(self, context: Any) -> None:  # noqa: B027
        """For Triton's interface: naiad's contexts have every dialect."""

    def get_module_map(self) -> dict[str, Any]:
        """For Triton's interface: modules of the language that mean another module on this target."""
        return {}

    def get_codegen_implementation(self, options: Any) -> dict[str, Any]:
        """For Triton's interface: naiad's front end asks the options."""
        return {}

    @staticmethod
    def parse_attr(description: str) -> list[list[Any]]:
        """What a specialisation says, as attributes of the argument: D is divisible by 16; how a descriptor pads."""
        aligned = [["tt.divisibility", 16]] if "D" in description else []
        padded = [["tt.padding", 2]] if "padding=nan" in description else []
        return [*aligned, *padded, *([["tt.round_f32_to_tf32", 1]] if "tf32" in description else [])]

    @staticmethod
    def get_int_specialization(value: int, **keywords: Any) -> str:
        return "D" if keywords.get("align", False) and value % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(tensor: Any, **keywords: Any) -> str:
        return "D" if keywords.get("align", False) and tensor.data_ptr() % 16 == 0 else ""
