-- When an index was last searched for what stopped writers left, and since when it has chunks or texts but no document.
ALTER TABLE ragengine_index_catalogue
    ADD COLUMN swept_at timestamptz,
    ADD COLUMN without_documents_since timestamptz;
