use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The cloud provider's settings of new nodes, which a NodeClaim refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeClass {
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// A text that is not a node class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a node class must be GROUP/KIND/NAME, for example karpenter.k8s.aws/EC2NodeClass/default")]
pub struct NotANodeClass;

impl FromStr for NodeClass {
    type Err = NotANodeClass;

    fn from_str(text: &str) -> Result<Self, NotANodeClass> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            [group, kind, name] if is_domain(group) && group.contains('.') && is_kind(kind) && is_domain(name) => {
                Ok(Self { group: group.to_owned(), kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => Err(NotANodeClass),
        }
    }
}

impl fmt::Display for NodeClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, kind, name } = self;
        write!(formatter, "{group}/{kind}/{name}")
    }
}

fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether each part between dots has lower case letters, digits and inner hyphens.
fn is_domain(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(is_inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_class_has_three_parts() {
        for good in ["karpenter.k8s.aws/EC2NodeClass/default", "karpenter.azure.com/AKSNodeClass/gpu-1.a"] {
            assert_eq!(good.parse::<NodeClass>().unwrap().to_string(), good);
        }
        let long = format!("karpenter.k8s.aws/EC2NodeClass/{}", "a".repeat(254));
        for wrong in [
            "",
            "default",
            "EC2NodeClass/default",
            "karpenter/EC2NodeClass/default",
            "karpenter.k8s.aws/ec2nodeclass/default",
            "karpenter.k8s.aws/EC2NodeClass/",
            "karpenter.k8s.aws/EC2NodeClass/Default",
            "karpenter.k8s.aws/EC2NodeClass/-a",
            "karpenter..aws/EC2NodeClass/default",
            "karpenter.k8s.aws/EC2NodeClass/default/more",
            long.as_str(),
        ] {
            assert_eq!(wrong.parse::<NodeClass>(), Err(NotANodeClass), "{wrong}");
        }
    }
}
