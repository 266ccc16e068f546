"""The machines that `--profile aws` uses: what they cost, and one stack of CloudFormation that makes them."""
