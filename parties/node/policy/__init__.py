"""The policy of a party: rules that permit or deny jobs without the operator, requests, and decisions."""
