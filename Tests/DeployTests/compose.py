"""Reads a compose file as Docker would with nothing set, checks it against the compose specification, prints it as JSON."""
import json
import re
import sys

import yaml
from compose_spec import PyCompose

text = open(sys.argv[1]).read()
document = yaml.safe_load(re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text))
PyCompose.from_json(json.dumps(document)).validate()
json.dump(document["services"], sys.stdout)
