use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

const MIB: usize = 1 << 20;

/// Writes files of the maximum size, one that is too large, and some that expand when they are parsed.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("good.md"), "# Good\n\nThis one is read like any other.\n")?;
    repeat(&folder.join("huge.txt"), "", "All work and no play makes a long text. ", 200 * MIB)?;
    repeat(&folder.join("nested.html"), "<html><body>", "<div><b>", 40 * MIB)?;
    repeat(&folder.join("table.csv"), "name,text\n", "row,\n", 45 * MIB)?;
    repeat(&folder.join("one-line.jsonl"), "{\"text\": \"", "all in one line ", 45 * MIB)?;
    repeat(&folder.join("one-cell.csv"), "text\n\"", "all in one cell ", 45 * MIB)?;
    repeat(&folder.join("list.md"), "", "- one\n", 2 * MIB - 64)?;
    repeat(&folder.join("broken.pdf"), "%PDF-1.7\n", "1 0 obj << /Type /Page >> endobj ", 40 * MIB)?;
    fs::write(folder.join("bomb.pdf"), bomb(1000 * MIB)?)?;
    Ok(())
}

fn repeat(path: &Path, head: &str, part: &str, bytes: usize) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(head.as_bytes())?;
    for _ in 0..bytes / part.len() {
        file.write_all(part.as_bytes())?;
    }
    Ok(file.flush()?)
}

/// A PDF file with one page whose content is compressed to about 0.1% of its size.
fn bomb(bytes: usize) -> anyhow::Result<Vec<u8>> {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let line = b"BT (all of this is shown on one page) Tj ET\n".repeat(1000);
    for _ in 0..bytes / line.len() {
        packed.write_all(&line)?;
    }
    let packed = packed.finish()?;
    let mut pdf = b"%PDF-1.4\n\
        1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
        2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n\
        3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >> endobj\n"
        .to_vec();
    writeln!(pdf, "4 0 obj << /Length {} /Filter /FlateDecode >> stream", packed.len())?;
    pdf.extend(packed);
    pdf.extend(b"\nendstream endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n");
    Ok(pdf)
}
