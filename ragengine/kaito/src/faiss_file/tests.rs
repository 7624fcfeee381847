use std::io::Cursor;

use super::*;

/// A header of FAISS.
fn head(kind: &[u8; 4], dimensions: i32, count: i64, metric: i32) -> Vec<u8> {
    let unused = (1_i64 << 20).to_le_bytes();
    [&kind[..], &dimensions.to_le_bytes(), &count.to_le_bytes(), &unused, &unused, &[1], &metric.to_le_bytes()].concat()
}

fn flat_file(kind: &[u8; 4], dimensions: i32, values: &[f32]) -> Vec<u8> {
    let count = values.len() as i64 / i64::from(dimensions.max(1));
    let mut file = head(kind, dimensions, count, 1);
    file.extend((values.len() as u64).to_le_bytes());
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

fn numbered_file(values: &[f32], numbers: &[i64]) -> Vec<u8> {
    let mut file = head(b"IxMp", 2, numbers.len() as i64, 1);
    file.extend(flat_file(b"IxF2", 2, values));
    file.extend((numbers.len() as u64).to_le_bytes());
    file.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    file
}

#[test]
fn flat_indexes_are_read_with_and_without_numbers() {
    let values = [1.0, 2.0, 3.0, 4.0];
    for kind in [b"IxF2", b"IxFI", b"IxFl"] {
        let expected = Layout { dimensions: 2, count: 2, vectors_at: 45, numbers: None };
        assert_eq!(layout(Cursor::new(flat_file(kind, 2, &values))), Ok(expected));
    }
    let expected = Layout { dimensions: 2, count: 2, vectors_at: 82, numbers: Some(vec![7, -1]) };
    assert_eq!(layout(Cursor::new(numbered_file(&values, &[7, -1]))), Ok(expected));
    let empty = Layout { dimensions: 2, count: 0, vectors_at: 45, numbers: None };
    assert_eq!(layout(Cursor::new(flat_file(b"IxF2", 2, &[]))), Ok(empty));
}

#[test]
fn other_files_are_refused_and_said_why() {
    let values = [1.0, 2.0, 3.0, 4.0];
    let with_length = |length: u64| {
        let mut file = flat_file(b"IxF2", 2, &values);
        file[37..45].copy_from_slice(&length.to_le_bytes());
        file
    };
    let mut wrapped_other = head(b"IxMp", 2, 0, 1);
    wrapped_other.extend(b"IwFl");
    let mut contradicting = numbered_file(&values, &[1, 2]);
    contradicting[8..16].copy_from_slice(&3_i64.to_le_bytes());
    for (file, expected) in [
        (Vec::new(), "it is incomplete"),
        (b"{}".to_vec(), "it is incomplete"),
        (b"{\"embedding_dict\": {}}".to_vec(), r#"its kind is '{\"em'"#),
        (head(b"IwFl", 2, 0, 1), "its kind is 'IwFl'"),
        (wrapped_other, "its kind is 'IwFl'"),
        (head(b"IxF2", 2, 2, 1), "it is incomplete"),
        (head(b"IxF2", 0, 2, 1), "its header is damaged"),
        (head(b"IxF2", -1, 2, 1), "its header is damaged"),
        (head(b"IxF2", 2, -1, 1), "its header is damaged"),
        (head(b"IxF2", 2, 2, 3), "its metric has the number 3"),
        (flat_file(b"IxF2", 2, &values)[..60].to_vec(), "its vectors are incomplete"),
        (with_length(2), "its vectors are incomplete"),
        (with_length(u64::MAX), "its vectors are incomplete"),
        (numbered_file(&values, &[1]), "the numbers of its vectors are incomplete"),
        (contradicting, "it contradicts itself"),
    ] {
        let said = layout(Cursor::new(file)).unwrap_err();
        assert!(said.contains(expected), "{said} instead of {expected}");
    }
}
