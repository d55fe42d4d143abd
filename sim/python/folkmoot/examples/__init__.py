"""Apps to start from: `strategy: Python(app: "folkmoot.examples.softmax")` runs one."""
