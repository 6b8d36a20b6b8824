"""Nodes of an ONNX graph, named one by one.

Onnx is imported by its caller: it is an optional dependency.
"""

from typing import Any

import numpy as np

from dropglm.extras import import_extra

MICROSOFT = "com.microsoft"
ML = "ai.onnx.ml"


class Graph:
    """A graph, or the body of a loop, to which nodes are added.

    ``graph.Add("a", "b")`` adds a node and returns the name of its output. Inputs are names of outputs, or
    arrays, which become constants. Attributes are given by keyword.
    """

    def __init__(self, name: str, outer: "Graph | None" = None) -> None:
        self.helper = import_extra("onnx.helper", "export", "ONNX files need")
        self.numpy_helper = import_extra("onnx.numpy_helper", "export", "ONNX files need")
        self.name = name
        self.nodes: list[Any] = []
        self.outermost: Graph = self if outer is None else outer.outermost
        self.constants: list[Any] = []  # of the outermost graph; bodies of loops see them
        self.count = 0

    def __getattr__(self, operator: str) -> Any:
        if not operator[0].isupper():
            raise AttributeError(operator)
        return lambda *inputs, **attributes: self.add(operator, *inputs, **attributes)

    def add(
        self, operator: str, *inputs: Any, outputs: int | list[str] = 1, domain: str = "", **attributes: Any
    ) -> Any:
        """Add a node; return the name of its output, or the names if there are several."""
        names = [self.new(operator) for _ in range(outputs)] if isinstance(outputs, int) else outputs
        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(self.helper.make_node(operator, given, names, domain=domain, **attributes))
        return names[0] if len(names) == 1 else names

    def new(self, name: str) -> str:
        """Return a name that nothing else has."""
        self.outermost.count += 1
        return f"{name.lower()}_{self.outermost.count}"

    def constant(self, value: Any) -> str:
        """Store an array, or a list of strings, and return its name."""
        outermost, name = self.outermost, self.new("constant")
        array = np.asarray(value)
        if array.dtype.kind in "US":
            array = array.astype(object)
        outermost.constants.append(self.numpy_helper.from_array(array, name))
        return name

    def finish(self, inputs: list[Any], outputs: list[Any]) -> Any:
        """Return the graph in ONNX's own type; inputs and outputs are triples of name, type and shape."""
        info = self.helper.make_tensor_value_info
        constants = self.constants if self.outermost is self else []
        return self.helper.make_graph(
            self.nodes,
            self.name,
            [info(*each) for each in inputs],
            [info(*each) for each in outputs],
            constants,
        )
