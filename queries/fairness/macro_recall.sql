-- The mean over true classes of the share of its rows that are predicted to be of the class, among rows where
-- prediction and label are known.
-- views: _groups.sql
WITH recalls AS (
    SELECT slice, share(pred = label, true) AS recall
    FROM rows
    WHERE label IS NOT NULL
    GROUP BY slice, label
)
SELECT slices.slice, avg(recall) AS value
FROM slices
LEFT JOIN recalls ON recalls.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
