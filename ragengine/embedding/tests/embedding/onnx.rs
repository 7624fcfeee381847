//! Writes small ONNX files, which are messages of protobuf.

/// The numbers of ONNX for the types of tensors.
pub const FLOAT: u64 = 1;
pub const INT64: u64 = 7;

/// A file with a graph of these nodes, constants, inputs and outputs.
pub fn graph(parts: &[Vec<u8>]) -> Vec<u8> {
    let opset = [bytes(1, b""), number(2, 13)].concat();
    let graph = [parts.concat(), bytes(2, b"tiny")].concat();
    [number(1, 8), bytes(7, &graph), bytes(8, &opset)].concat()
}

/// A node of the graph, with attributes that are whole numbers.
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str], attributes: &[(&str, u64)]) -> Vec<u8> {
    let mut node: Vec<u8> = inputs.iter().flat_map(|input| bytes(1, input.as_bytes())).collect();
    node.extend(outputs.iter().flat_map(|output| bytes(2, output.as_bytes())));
    node.extend(bytes(4, operator.as_bytes()));
    for (name, value) in attributes {
        // The type 2 is a whole number.
        node.extend(bytes(5, &[bytes(1, name.as_bytes()), number(3, *value), number(20, 2)].concat()));
    }
    bytes(1, &node)
}

/// A constant.
pub fn tensor(name: &str, kind: u64, shape: &[usize], values: &[u8]) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|&size| number(1, size as u64)).collect();
    bytes(5, &[shape, number(2, kind), bytes(8, name.as_bytes()), bytes(9, values)].concat())
}

/// An input of whole numbers, with two dimensions of any size.
pub fn input(name: &str) -> Vec<u8> {
    let dimension = |name: &str| bytes(1, &bytes(2, name.as_bytes()));
    let shape = [dimension("texts"), dimension("tokens")].concat();
    let kind = bytes(1, &[number(1, INT64), bytes(2, &shape)].concat());
    bytes(11, &[bytes(1, name.as_bytes()), bytes(2, &kind)].concat())
}

/// An output of any type.
pub fn output(name: &str) -> Vec<u8> {
    bytes(12, &bytes(1, name.as_bytes()))
}

/// A field of protobuf with a whole number.
fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A field of protobuf with bytes, a text or a message.
fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
