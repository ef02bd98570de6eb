"""The subjects of the benchmarks, one module each, by each library's own documented way.

A module has ``LIBRARIES`` (the first is the subject itself), ``IMPORT`` (what a program that uses it imports), ``make(funcs)``, ``schemas(made)``,
``call(made, name, text)``, ``call_async`` for an async function, ``result(answer)`` (what came back, as JSON, or an
error) and, where the library can, ``together(made, name, texts)``, ``stream(made, name, text)`` and ``chunk(text)``.
"""

from __future__ import annotations

# Subject → the environment that holds it; .venv is the repository's own.
ENVIRONMENTS = {
    "floor": ".venv",
    "nbtoolkit": ".venv",
    "agentscope": ".venvs/bench-agentscope",
    "pydantic_ai": ".venvs/bench-pydantic-ai-slim",
    "fastmcp": ".venvs/bench-fastmcp",
    "langchain_core": ".venvs/bench-langchain-core",
    "openai_agents": ".venvs/bench-openai-agents",
    "strands": ".venvs/bench-strands-agents",
}
