"""What Jiyi is made of: its pins checked against known vulnerabilities, its licences, its bill of materials."""
