//! Checks that this processor supports the compiled FAISS.

/// The processor lacks instructions that FAISS was compiled with. Without this check, the first search would end the
/// program with SIGILL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this processor (or the virtual machine's CPU model) lacks {}: the vector index needs x86-64-v3, \
     that is Intel Haswell (2013), AMD Excavator (2015) or newer, or the CPU model `host` in a virtual machine",
    missing.join(", ")
)]
pub struct UnsupportedCpu {
    /// The missing instruction sets, named as in the processor's manual. Never empty.
    pub missing: Vec<&'static str>,
}

/// Checks for x86-64-v3, the target of the C++ code in `.cargo/config.toml`. Call it when the program starts.
///
/// # Errors
///
/// [`UnsupportedCpu`] with the missing instruction sets.
pub fn check_cpu() -> Result<(), UnsupportedCpu> {
    match missing_of(&instruction_sets()) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(UnsupportedCpu { missing }),
    }
}

fn missing_of(sets: &[(&'static str, bool)]) -> Vec<&'static str> {
    sets.iter().filter(|(_, present)| !present).map(|(name, _)| *name).collect()
}

/// The instruction sets that x86-64-v3 adds to x86-64-v2 (x86-64 psABI, table "Micro-Architecture Levels").
#[cfg(target_arch = "x86_64")]
fn instruction_sets() -> Vec<(&'static str, bool)> {
    vec![
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("FMA", is_x86_feature_detected!("fma")),
        ("BMI1", is_x86_feature_detected!("bmi1")),
        ("BMI2", is_x86_feature_detected!("bmi2")),
        ("F16C", is_x86_feature_detected!("f16c")),
        ("LZCNT", is_x86_feature_detected!("lzcnt")),
        ("MOVBE", is_x86_feature_detected!("movbe")),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn instruction_sets() -> Vec<(&'static str, bool)> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_missing_instruction_sets() {
        let missing = missing_of(&[("AVX2", false), ("FMA", true), ("BMI2", false)]);
        assert_eq!(missing, ["AVX2", "BMI2"]);
        let message = UnsupportedCpu { missing }.to_string();
        assert!(message.contains("lacks AVX2, BMI2: the vector index needs x86-64-v3"), "{message}");
    }

    #[test]
    fn this_machine_is_supported() {
        assert_eq!(check_cpu(), Ok(()));
    }
}
