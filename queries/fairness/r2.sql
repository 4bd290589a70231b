-- One minus the mean squared difference of prediction and label, over that of the label and the mean of the
-- labels, among rows where both are known. Undefined if both are 0, -inf if only the labels do not differ.
-- views: _groups.sql
WITH known AS (
    SELECT slice, weight, pred, label, min(label) OVER labels = max(label) OVER labels AS constant,
           sum(weight * label) OVER labels / sum(weight) OVER labels AS mean
    FROM rows
    WHERE pred IS NOT NULL AND label IS NOT NULL AND weight > 0
    WINDOW labels AS (PARTITION BY slice)
),
squares AS (
    SELECT slice, mean_of(pow(pred - label, 2), true) AS wrong,
           CASE WHEN bool_or(constant) THEN 0 ELSE mean_of(pow(label - mean, 2), true) END AS spread
    FROM known
    GROUP BY slice
)
SELECT slices.slice, 1 - nullif(wrong / spread, 'nan') AS value
FROM slices
LEFT JOIN squares ON squares.slice IS NOT DISTINCT FROM slices.slice
