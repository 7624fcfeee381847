module ragengine/karpenter

go 1.24.6

require (
	sigs.k8s.io/karpenter v1.8.0
)
