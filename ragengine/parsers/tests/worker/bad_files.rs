//! Creates files that cost far more than their size.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::{Compress, Compression, FlushCompress};

/// A page of nested elements.
pub fn nested_page(folder: &Path, elements: usize) -> PathBuf {
    let path = folder.join("nested.html");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for _ in 0..elements {
        file.write_all(b"<b>").unwrap();
    }
    file.flush().unwrap();
    path
}

/// A page of empty sibling elements.
pub fn wide_page(folder: &Path, elements: usize) -> PathBuf {
    let path = folder.join("wide.html");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for _ in 0..elements {
        file.write_all(b"<br>").unwrap();
    }
    file.flush().unwrap();
    path
}

/// A PDF file with one page that unpacks to many MiB of blanks, from about a thousandth of that.
pub fn pdf_bomb(folder: &Path, unpacked_mib: usize) -> PathBuf {
    // After a full flush, the compressed piece can be repeated, so that the whole data need not be compressed.
    let mut compress = Compress::new(Compression::best(), false);
    let mut piece = Vec::with_capacity(1 << 20);
    compress.compress_vec(&vec![b' '; 1 << 20], &mut piece, FlushCompress::Full).unwrap();
    let mut packed = vec![0x78, 0x9c];
    for _ in 0..unpacked_mib {
        packed.extend_from_slice(&piece);
    }
    pdf(folder, "bomb.pdf", &packed, "/FlateDecode")
}

/// A PDF file with a page of nested forms, each of which draws the next one many times.
pub fn pdf_that_hangs(folder: &Path) -> PathBuf {
    const DEPTH: usize = 12;
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>"
            .to_owned(),
        stream("<< /Length LENGTH >>", "/F Do"),
    ];
    for form in 0..DEPTH {
        let next = 6 + form;
        let head = format!(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F {next} 0 R >> >> \
             /Length LENGTH >>"
        );
        objects.push(stream(&head, &"/F Do ".repeat(40)));
    }
    objects.push(stream("<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length LENGTH >>", "0 0 m"));
    write_pdf(&folder.join("hang.pdf"), objects.into_iter().map(String::into_bytes).collect())
}

fn pdf(folder: &Path, name: &str, packed: &[u8], filter: &str) -> PathBuf {
    let mut content = format!("<< /Filter {filter} /Length {} >>\nstream\n", packed.len()).into_bytes();
    content.extend_from_slice(packed);
    content.extend_from_slice(b"\nendstream");
    let objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << >> >>".to_vec(),
        content,
    ];
    write_pdf(&folder.join(name), objects)
}

fn stream(head: &str, content: &str) -> String {
    format!("{}\nstream\n{content}\nendstream", head.replace("LENGTH", &content.len().to_string()))
}

fn write_pdf(path: &Path, objects: Vec<Vec<u8>>) -> PathBuf {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        offsets.push(bytes.len());
        bytes.extend_from_slice(format!("{} 0 obj\n", number + 1).as_bytes());
        bytes.extend_from_slice(object);
        bytes.extend_from_slice(b"\nendobj\n");
    }
    let start = bytes.len();
    bytes.extend_from_slice(format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1).as_bytes());
    for offset in &offsets {
        bytes.extend_from_slice(format!("{offset:010} 00000 n \n").as_bytes());
    }
    let trailer = format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1);
    bytes.extend_from_slice(trailer.as_bytes());
    std::fs::write(path, bytes).unwrap();
    path.to_owned()
}
