//! Small PDF files: a valid one, and a decompression bomb.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The decompressed size of the bomb. It is more than the memory limit of a parser.
const BOMB_BYTES: usize = 512 << 20;

/// A file with a line of text on each page.
pub fn with_pages(pages: &[&str]) -> Vec<u8> {
    let streams = pages.iter().map(|text| stream("", format!("BT /F1 24 Tf 72 700 Td ({text}) Tj ET").as_bytes()));
    document(streams.collect())
}

/// A page whose content was compressed twice: some kilobytes expand to half a gigabyte.
pub fn bomb() -> Vec<u8> {
    let mut outer = ZlibEncoder::new(Vec::new(), Compression::fast());
    let mut inner = ZlibEncoder::new(&mut outer, Compression::fast());
    let block = [b' '; 1 << 16];
    (0..BOMB_BYTES / block.len()).for_each(|_| inner.write_all(&block).unwrap());
    inner.finish().unwrap();
    document(vec![stream("/Filter [/FlateDecode /FlateDecode]", &outer.finish().unwrap())])
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {entries} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// Builds a file from streams: the catalogue, the pages, the font, then a page and its content for each stream.
fn document(streams: Vec<Vec<u8>>) -> Vec<u8> {
    let kids: String = (0..streams.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", streams.len()).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    for (page, stream) in streams.into_iter().enumerate() {
        let content = 5 + 2 * page;
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> \
             /Contents {content} 0 R >>"
        );
        objects.extend([page.into_bytes(), stream]);
    }
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend(format!("{} 0 obj\n", number + 1).into_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let end = format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n", objects.len() + 1, file.len());
    [file, table.into_bytes(), end.into_bytes()].concat()
}
